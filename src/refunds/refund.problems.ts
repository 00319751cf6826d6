import type { Charge } from '../charges/charge.js';
import { Problem } from '../http/problem.js';
import { formatAmount } from '../payments/currency.js';
import type { Failure } from '../payments/payment-provider.js';
import { REFUND_FAILED, type Refund } from './refund.js';

const FINAL = { 'Should-Retry': 'false' };

export function refundNotFound(id: string): Problem {
  return new Problem({
    status: 404,
    code: 'refund_not_found',
    title: 'There is no such refund',
    detail: `No refund ${id} is known.`,
  });
}

export function chargeNotRefundable({ id, status }: Charge): Problem {
  return new Problem({
    status: 409,
    code: 'charge_not_refundable',
    title: 'The charge took no money',
    detail: `Charge ${id} is ${status}: there is nothing to refund.`,
    members: { chargeId: id },
    headers: FINAL,
  });
}

export function chargeInProgress(id: string): Problem {
  return new Problem({
    status: 409,
    code: 'charge_in_progress',
    title: 'The outcome of the charge is not final',
    detail: `Charge ${id} has not succeeded yet, and may still. Nothing was refunded.`,
    members: { chargeId: id },
    headers: { 'Retry-After': '2', 'Should-Retry': 'true' },
  });
}

export function chargeAlreadyRefunded(id: string): Problem {
  return new Problem({
    status: 409,
    code: 'charge_already_refunded',
    title: 'The charge is already refunded',
    detail: `Charge ${id} is refunded in full, or refunds of all of it are under way. Nothing more was refunded.`,
    members: { chargeId: id },
    headers: FINAL,
  });
}

/** @param left in the provider's smallest unit */
export function refundAmountTooLarge({ id, currency }: Charge, left: number): Problem {
  return new Problem({
    status: 409,
    code: 'refund_amount_too_large',
    title: 'The amount is more than is left of the charge',
    detail: `${formatAmount(left, currency)} (${left}) is left of charge ${id}. Nothing was refunded.`,
    param: 'amount',
    members: { chargeId: id, amountLeft: left },
    headers: FINAL,
  });
}

/** Nothing was refunded: final for this key. */
export function refundRejected(refund: Refund, failure: Failure): Problem {
  return failure.code === REFUND_FAILED.failure.code ? failed(refund) : refusedByProvider(refund, failure);
}

/** An operator found that nothing was refunded. */
function failed({ id, chargeId }: Refund): Problem {
  return new Problem({
    status: 402,
    code: REFUND_FAILED.failure.code,
    title: 'The refund failed',
    detail: `The refund was not made. Refund charge ${chargeId} under a new Idempotency-Key.`,
    error: { refund: id },
    members: { chargeId, refundId: id },
    headers: FINAL,
  });
}

function refusedByProvider({ id, chargeId }: Refund, failure: Failure): Problem {
  return new Problem({
    status: 402,
    code: 'refund_rejected',
    title: 'The payment provider refused the request',
    detail: `${failure.message} Nothing was refunded. Refund charge ${chargeId} under a new Idempotency-Key.`,
    ...(failure.param && { param: failure.param }),
    error: { provider_code: failure.code, refund: id },
    members: { chargeId, refundId: id },
    headers: FINAL,
  });
}
