import { randomUUID } from 'node:crypto';

/**
 * A key for one intent of a customer. Make it, and keep it (in the page, in a row), before the first send: whoever
 * comes back for a lost answer needs the same one. Never made from what is bought: two equal purchases are two.
 */
export function newKey(): string {
  return randomUUID();
}

/** An answer as `openapi-fetch` gives it: `error` is the problem, where it is one. */
export interface Answer {
  readonly response: Response;
  readonly error?: unknown;
}

/**
 * Whether the intent has ended, and not as it was meant to: declined, refused by the provider, or voided as nobody
 * came back. The service has stored that under the key, and trying again needs a new one.
 */
export function isFinalFailure({ response, error }: Answer): boolean {
  return response.status === 402 || (response.status === 409 && codeOf(error) === 'checkout_voided');
}

/**
 * The key for the next try. Only a final failure asks for a new one; after a timeout, a 5xx or anything else that may
 * have been done, another key could do it again. (What the customer has changed is another intent: `newKey`.)
 * @param answer what came, undefined where nothing did
 */
export function nextKey(key: string, answer: Answer | undefined): string {
  return answer && isFinalFailure(answer) ? newKey() : key;
}

function codeOf(problem: unknown): unknown {
  return (problem as { code?: unknown } | undefined)?.code;
}
