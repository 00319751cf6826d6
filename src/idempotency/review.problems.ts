import { Problem } from '../http/problem.js';
import type { DecidedReview, Decision } from './review.store.js';

const FINAL = { 'Should-Retry': 'false' };

export function reviewNotFound(id: string): Problem {
  return new Problem({
    status: 404,
    code: 'review_not_found',
    title: 'There is no such review',
    detail: `No review ${id} is known.`,
  });
}

export function reviewAlreadyDecided({ id, decision, providerId, decidedBy }: DecidedReview): Problem {
  return new Problem({
    status: 409,
    code: 'review_already_decided',
    title: 'The review is decided already',
    detail: `Review ${id} was decided by ${decidedBy}: ${decision}${providerId ? ` ${providerId}` : ''}. The first decision stands.`,
    members: { decision },
    headers: FINAL,
  });
}

/** Nobody can say what a call came to that was not made, or that this build does not know. */
export function decisionImpossible(decision: Decision): Problem {
  return new Problem({
    status: 409,
    code: 'decision_impossible',
    title: 'The review cannot be decided so',
    detail: `The key waits for no answer of the payment provider, so ${decision} means nothing here. Nothing was decided; retry lets it go on.`,
    param: 'decision',
    headers: FINAL,
  });
}

export function notConfirmed(reason: string): Problem {
  return new Problem({
    status: 409,
    code: 'payment_not_confirmed',
    title: 'The payment provider does not confirm the decision',
    detail: `Nothing was decided. The provider was asked, and this is not the payment, or it did not succeed: ${reason}.`,
    param: 'providerId',
    headers: FINAL,
  });
}

export function confirmationUnavailable(reason: string): Problem {
  return new Problem({
    status: 503,
    code: 'provider_unavailable',
    title: 'The payment provider cannot be asked',
    detail: `Nothing was decided, as the payment provider could not be asked (${reason}). Send the same decision again.`,
    headers: { 'Retry-After': '5', 'Should-Retry': 'true' },
  });
}

/** Another review about the same key was decided in the same moment. */
export function keyMovedOn(): Problem {
  return new Problem({
    status: 409,
    code: 'key_moved_on',
    title: 'The key has moved on',
    detail: 'The key changed while the decision was made. Nothing was decided. Read the review again.',
    headers: { 'Retry-After': '1', 'Should-Retry': 'true' },
  });
}
