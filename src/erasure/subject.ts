/** Whose data it is, and how far the erasing goes. */
export interface Subject {
  readonly tenantId: string;
  /** The address of the person; or one order of theirs. */
  readonly who: { readonly email: string } | { readonly orderId: string };
  /** The client's own words, which name a person only where the client wrote one there. */
  readonly also: readonly ClientWords[];
}

export const CLIENT_WORDS = ['externalRef', 'items'] as const;

export type ClientWords = (typeof CLIENT_WORDS)[number];

/** Compared whatever its case, and by the database alone: two ideas of lower case would miss some. @returns null where an order was named */
export function addressOf({ who }: Subject): string | null {
  return 'email' in who ? who.email : null;
}
