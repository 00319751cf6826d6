import { typeidUnboxed } from 'typeid-js';
import type { Charge } from '../charges/charge.js';
import type { RefundOutcome, RefundRequest, UnsettledOutcome } from '../payments/payment-provider.js';
import type { RefundBody } from './refund-body.dto.js';

export type RefundStatus = 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled';

export type RefundReason = NonNullable<RefundRequest['reason']>;

export const REFUND_REASONS = [
  'duplicate',
  'fraudulent',
  'requested_by_customer',
] as const satisfies readonly RefundReason[];

export type SettledRefundOutcome = Exclude<RefundOutcome, UnsettledOutcome>;

export interface Refund {
  readonly id: string;
  readonly chargeId: string;
  readonly status: RefundStatus;
  /** In the provider's smallest unit. */
  readonly amount: number;
  readonly currency: string;
  readonly reason?: RefundReason;
  /** The provider's name of the refund, once it is known. */
  readonly providerId?: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** Whether `id` could be one of ours; what could not is not asked for. */
export function isRefundId(id: string): boolean {
  return /^re_[0-9a-z]{26}$/.test(id);
}

/** The intent to give `amount` back; recorded before the provider is asked. */
export function newRefund(charge: Charge, amount: number, reason?: RefundReason): Refund {
  return {
    id: typeidUnboxed('re'),
    chargeId: charge.id,
    status: 'pending',
    amount,
    currency: charge.currency,
    ...(reason && { reason }),
    createdAt: new Date().toISOString(),
  };
}

/** What a person's decision that nothing was refunded comes to: the amount comes back to the charge. */
export const REFUND_FAILED = {
  status: 'rejected',
  failure: { code: 'refund_failed', message: 'The refund failed.' },
} as const satisfies SettledRefundOutcome;

/** What the provider is asked; frozen with the recovery point before the call. */
export function refundRequest(tenantId: string, refund: Refund, chargeProviderId: string): RefundRequest {
  const { id: refundId, amount, currency, reason } = refund;
  return {
    tenantId,
    refundId,
    providerId: chargeProviderId,
    amount,
    currency,
    ...(reason && { reason }),
  };
}

/** The refund as clients see it. */
export function refundBody(refund: Refund): RefundBody {
  const { id, chargeId, status, amount, currency, reason, createdAt } = refund;
  return { id, chargeId, status, amount, currency, reason: reason ?? null, createdAt };
}
