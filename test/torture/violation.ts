/** A promise that was broken, and whose timeline shows how. */
export interface Violation {
  readonly what: string;
  readonly tenant?: string;
  readonly key?: string;
  readonly orderId?: string;
}
