import { Problem } from '../http/problem.js';
import { PAYMENT_FAILED, type Charge } from './charge.js';

export function chargeNotFound(id: string): Problem {
  return new Problem({
    status: 404,
    code: 'charge_not_found',
    title: 'There is no such charge',
    detail: `No charge ${id} is known.`,
  });
}

/** The issuer said no: final for this key. */
export function cardDeclined({ id, orderId, providerId, failure }: Charge): Problem {
  return new Problem({
    status: 402,
    code: failure?.code ?? 'card_declined',
    title: 'The payment was declined',
    detail: `${sentence(failure?.message ?? 'The card was declined')} Nothing was charged. Pay order ${orderId} with another payment method by POST /v1/charges, under a new Idempotency-Key.`,
    type: 'card_error',
    param: failure?.param ?? 'paymentMethod',
    error: {
      ...(failure?.declineCode && { decline_code: failure.declineCode }),
      ...(providerId && { payment_intent: providerId }),
      charge: id,
    },
    members: { orderId },
    headers: { 'Should-Retry': 'false' },
  });
}

/** The payment was ended at the provider before it was made: final for this key. */
export function paymentCanceled({ id, orderId, providerId }: Charge): Problem {
  return new Problem({
    status: 402,
    code: 'payment_canceled',
    title: 'The payment was canceled',
    detail: `The payment was canceled. Nothing was charged. Pay order ${orderId} by POST /v1/charges, under a new Idempotency-Key.`,
    error: { ...(providerId && { payment_intent: providerId }), charge: id },
    members: { orderId },
    headers: { 'Should-Retry': 'false' },
  });
}

/** Nothing was charged, and not for the card's sake: final for this key as well. */
export function paymentRejected(charge: Charge): Problem {
  return charge.failure?.code === PAYMENT_FAILED.failure.code ? failed(charge) : refusedByProvider(charge);
}

/** An operator found that nothing was charged. */
function failed({ id, orderId }: Charge): Problem {
  return new Problem({
    status: 402,
    code: PAYMENT_FAILED.failure.code,
    title: 'The payment failed',
    detail: `The payment was not made. Nothing was charged. Pay order ${orderId} by POST /v1/charges, under a new Idempotency-Key.`,
    error: { charge: id },
    members: { orderId },
    headers: { 'Should-Retry': 'false' },
  });
}

function refusedByProvider({ id, orderId, failure }: Charge): Problem {
  return new Problem({
    status: 402,
    code: 'payment_rejected',
    title: 'The payment provider refused the request',
    detail: `${sentence(failure?.message ?? 'The payment provider refused the request')} Nothing was charged. Pay order ${orderId} by POST /v1/charges, under a new Idempotency-Key.`,
    param: failure?.param ?? 'paymentMethod',
    error: { ...(failure && { provider_code: failure.code }), charge: id },
    members: { orderId },
    headers: { 'Should-Retry': 'false' },
  });
}

/** Not every message of the provider ends like one. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
