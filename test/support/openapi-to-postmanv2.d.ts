/** The library has no types of its own; this is what the tests call of it. */
declare module 'openapi-to-postmanv2' {
  interface Conversion {
    readonly result: boolean;
    /** Why it cannot be converted. */
    readonly reason?: string;
    readonly output?: readonly { readonly type: string; readonly data: object }[];
  }

  const converter: {
    convertV2(
      input: { readonly type: 'json'; readonly data: object },
      options: object,
      done: (error: Error | null, conversion: Conversion) => void,
    ): void;
  };
  export default converter;
}
