import { isStoreUnavailable } from '../database/errors.js';
import type { Foreign } from './course.js';
import { operationInterrupted } from './idempotency.problems.js';

/** Ends an attempt for now: the key is released at its recovery point, and the client is told to come back. */
export class GiveUp extends Error {
  constructor(
    readonly reason: string,
    /** What the client is told. */
    readonly answer: Error,
    readonly how: {
      /** The call that may have acted; none where nothing is in doubt. */
      readonly doubted?: Foreign;
      /** Speaks against the key, not against a system that is away. */
      readonly counts?: boolean;
      readonly retryAfterSeconds?: number | undefined;
    } = {},
  ) {
    super(reason);
  }
}

/** Kept for operators: what kind of error it was. Its message may hold values of the request; that is in the log alone. */
export function interrupted(error: unknown, doubted: Foreign | undefined): GiveUp {
  const { name = 'unknown', code } = (error ?? {}) as { name?: string; code?: string };
  const reason = code === undefined ? name : `${name} ${code}`;
  const away = isStoreUnavailable(error);
  return new GiveUp(reason, away ? (error as Error) : operationInterrupted(), {
    ...(doubted && { doubted }),
    counts: !away,
  });
}
