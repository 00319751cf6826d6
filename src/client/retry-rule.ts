import type { RetryPolicy } from './retry-policy.js';

/** What came of one try: an answer, or none, and nobody knows what the service did. */
export type Outcome = { readonly response: Response } | { readonly error: unknown };

/** RFC 9110 section 9.2.2. */
const IDEMPOTENT = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'];

/** Whether the request may be sent again without anyone asking: a POST only under a key. */
export function isRepeatable({ method, headers }: Request): boolean {
  return IDEMPOTENT.includes(method) || headers.has('Idempotency-Key');
}

/** 408: it did not arrive whole. 409: a key, order or charge is at work. The service says where that is for good. */
const PASSING = [408, 409, 429];

/** Whether the same request may come to something else later. The service's own word wins over the rule for the status. */
export function isPassing(outcome: Outcome): boolean {
  if ('error' in outcome) return true;
  const { status, headers } = outcome.response;
  const hint = headers.get('Should-Retry');
  if (hint === 'true' || hint === 'false') return hint === 'true';
  return status >= 500 || PASSING.includes(status);
}

/**
 * How long to wait before the next try: what the service asks for, and full jitter on top, so that those who were sent
 * away together do not come back together.
 * @param attempt number of the try that just ended, from 1
 * @param random from 0 to 1
 * @returns milliseconds
 */
export function delayAfter(
  outcome: Outcome,
  attempt: number,
  { baseDelay, maxDelay }: RetryPolicy,
  now: number,
  random: number,
): number {
  const jitter = random * Math.min(maxDelay, baseDelay * 2 ** (attempt - 1));
  const header = 'response' in outcome ? outcome.response.headers.get('Retry-After') : null;
  return (header === null ? 0 : retryAfter(header, now)) + jitter;
}

/** Seconds or a date: RFC 9110 section 10.2.3. What is neither asks for nothing. @returns milliseconds */
function retryAfter(header: string, now: number): number {
  const milliseconds = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(milliseconds) ? 0 : Math.max(0, milliseconds);
}
