import { Problem } from '../http/problem.js';

/** A retry is worth while, soon: other attempts need a second or two. */
const RETRY_SOON = { 'Retry-After': '1', 'Should-Retry': 'true' };

/** Seconds: whatever the other system asks for, a client that comes back meanwhile is told anew. */
const LONGEST_RETRY_AFTER = 60;

/** Not before the other system wants to be asked again. */
function retryAfter(seconds = 1): typeof RETRY_SOON {
  return { ...RETRY_SOON, 'Retry-After': String(Math.min(Math.max(1, seconds), LONGEST_RETRY_AFTER)) };
}

export function outcomeUnknown(retryAfterSeconds?: number): Problem {
  return new Problem({
    status: 503,
    code: 'outcome_unknown',
    title: 'The outcome is not known yet',
    detail:
      'The payment provider did not say what happened. Retry with the same Idempotency-Key: the charge will not be made twice.',
    headers: retryAfter(retryAfterSeconds),
  });
}

export function providerUnavailable(retryAfterSeconds?: number): Problem {
  return new Problem({
    status: 503,
    code: 'provider_unavailable',
    title: 'The payment provider cannot be reached',
    detail: 'The payment provider was not reached and has done nothing. Retry with the same Idempotency-Key.',
    headers: retryAfter(retryAfterSeconds),
  });
}

/** Something failed after a phase was committed: the key stays at its recovery point and the retry resumes there. */
export function operationInterrupted(): Problem {
  return new Problem({
    status: 500,
    code: 'operation_interrupted',
    title: 'The operation was interrupted',
    detail:
      'Part of the work is done and recorded. Retry with the same Idempotency-Key to continue where it stopped.',
    headers: RETRY_SOON,
  });
}

/** Made by a newer build, in a way that this one cannot compare. A 422 would be wrong, and final. */
export function fingerprintUnknown(): Problem {
  return new Problem({
    status: 503,
    code: 'fingerprint_unknown',
    title: 'The request cannot be compared here yet',
    detail: 'Another version of the service took this Idempotency-Key. Retry with the same key in a moment.',
    headers: RETRY_SOON,
  });
}

export function recoveryPointUnknown(): Problem {
  return new Problem({
    status: 503,
    code: 'recovery_point_unknown',
    title: 'The operation cannot be continued here yet',
    detail:
      'Another version of the service began this operation. Retry with the same Idempotency-Key in a moment.',
    headers: RETRY_SOON,
  });
}

export function keyInUse(leaseRemaining: number | null): Problem {
  // Long enough to be worth waiting, short enough that a finished reply is not left lying.
  const seconds = Math.max(1, Math.min(2, Math.ceil(leaseRemaining ?? 1)));
  return new Problem({
    status: 409,
    code: 'idempotency_key_in_use',
    title: 'A request with this Idempotency-Key is in progress',
    detail:
      'The first request with this Idempotency-Key is still running. Retry with the same key after Retry-After.',
    headers: { 'Retry-After': String(seconds), 'Should-Retry': 'true' },
  });
}

/** Seconds: people decide in minutes at best, and clients should not hammer until they do. */
const REVIEW_RETRY_AFTER = 60;

export function keyUnderReview(): Problem {
  return new Problem({
    status: 409,
    code: 'idempotency_key_under_review',
    title: 'A person must decide how this request ends',
    detail:
      'What happened at the payment provider is not clear. Nothing is charged again until an operator has decided.',
    headers: { 'Retry-After': String(REVIEW_RETRY_AFTER), 'Should-Retry': 'true' },
  });
}

export function keyMismatch(differs: readonly string[]): Problem {
  return new Problem({
    status: 422,
    code: 'idempotency_key_mismatch',
    title: 'Idempotency-Key reused with different parameters',
    type: 'idempotency_error',
    detail: `Keys for idempotent requests can only be used with the same parameters they were first used with. Use another Idempotency-Key for another request. What differs: ${differs.join(', ')}.`,
    members: { differs },
    headers: { 'Should-Retry': 'false' },
  });
}

export const REPLY_ERASED = 'idempotency_reply_erased';

/** In place of a stored reply that held personal data. @param status of that reply */
export function replyErased(status: number, orderId: string | null): Problem {
  const where = orderId === null ? '' : ` Order ${orderId} tells what came of it.`;
  return new Problem({
    status: 410,
    code: REPLY_ERASED,
    title: 'The reply to this request was erased',
    detail: `The request was carried out and answered with ${status}. That answer held personal data, which was erased. Nothing is done again.${where}`,
    members: { erasedStatus: status, ...(orderId !== null && { orderId }) },
    headers: { 'Should-Retry': 'false' },
  });
}

export function keyMissing(): Problem {
  return new Problem({
    status: 400,
    code: 'idempotency_key_missing',
    title: 'Idempotency-Key is missing',
    detail:
      'This route needs an Idempotency-Key header, so that a retry cannot do the work twice. Make one per intent, such as a UUID.',
  });
}

export function keyInvalid(reason: string): Problem {
  return new Problem({
    status: 400,
    code: 'idempotency_key_invalid',
    title: 'Idempotency-Key is not valid',
    detail: reason,
  });
}
