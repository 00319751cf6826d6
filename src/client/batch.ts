import { isFinalFailure, type Answer } from './keys.js';

/** One step of one thing that the business has a name for. */
export interface BatchStep {
  /** Such as an invoice number. Nothing personal: keys are kept and logged. */
  readonly businessId: string;
  /** Such as `pay`; another step of the same thing is another intent. */
  readonly step: string;
}

/** Letters that need no quotes in the header, but for `:`, which parts the parts, and `@`, which is in addresses. */
const PART = /^[A-Za-z0-9_~.][A-Za-z0-9_~.+/-]*$/;
const MAX_LENGTH = 255;

/** `invoice-1001:pay:1`. @throws RangeError where that would be no key, or might be another step's */
export function batchKey({ businessId, step }: BatchStep, n: number): string {
  for (const part of [businessId, step])
    if (!PART.test(part))
      throw new RangeError(`"${part}" cannot be part of a key: use letters, digits and _ ~ . + / -`);
  if (!Number.isSafeInteger(n) || n < 1) throw new RangeError('n counts from 1');
  const key = `${businessId}:${step}:${n}`;
  if (key.length > MAX_LENGTH) throw new RangeError(`A key has at most ${MAX_LENGTH} characters`);
  return key;
}

/** Where a batch keeps how often each step has failed for good. Durable: what it promises is all that a rerun knows. */
export interface AttemptNumbers {
  /** The present number of a step. The first time it is 1, and saved before this resolves. */
  current(step: BatchStep): Promise<number>;
  /** Raises it by one where it is `from` still, and resolves once that is saved; otherwise somebody else did. */
  raise(step: BatchStep, from: number): Promise<void>;
}

/**
 * Sends a step of a batch under `<business id>:<step>:<n>`. However often the batch is run again, after a crash or by
 * two machines at once, a number is one intent; it is raised only when that has failed for good, so that the next run
 * may try anew (with another card, say). A lost answer leaves it as it is, and the next run gets that answer.
 * @param send sends under the key, and gives the answer
 */
export async function sendInBatch<Given extends Answer>(
  numbers: AttemptNumbers,
  step: BatchStep,
  send: (idempotencyKey: string) => Promise<Given>,
): Promise<Given> {
  const n = await numbers.current(step);
  const answer = await send(batchKey(step, n));
  if (isFinalFailure(answer)) await numbers.raise(step, n);
  return answer;
}
