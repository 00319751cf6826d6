import { typeidUnboxed } from 'typeid-js';
import type { Order } from '../orders/order.js';
import type {
  ChargeOutcome,
  ChargeRequest,
  Failure,
  NextAction,
  UnsettledOutcome,
} from '../payments/payment-provider.js';
import type { ChargeBody } from './charge-body.dto.js';

export type ChargeStatus =
  | 'pending'
  | 'unknown'
  | 'requires_action'
  | 'processing'
  | 'succeeded'
  | 'declined'
  | 'rejected'
  | 'canceled'
  | 'review';

export type SettledOutcome = Exclude<ChargeOutcome, UnsettledOutcome>;

export interface Charge {
  readonly id: string;
  readonly orderId: string;
  readonly status: ChargeStatus;
  /** In the provider's smallest unit. */
  readonly amount: number;
  readonly amountRefunded: number;
  /** The provider took the money although the charge had ended: all of it is refunded. */
  readonly owedBack: boolean;
  readonly currency: string;
  /** The provider's name of the payment, once it is known. */
  readonly providerId?: string;
  readonly nextAction?: NextAction;
  readonly failure?: Failure;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** Whether `id` could be one of ours; what could not is not asked for. */
export function isChargeId(id: string): boolean {
  return /^ch_[0-9a-z]{26}$/.test(id);
}

/** The intent to charge; recorded before the provider is asked. */
export function newCharge({ id: orderId, amount, currency }: Order): Charge {
  return {
    id: typeidUnboxed('ch'),
    orderId,
    status: 'pending',
    amount,
    amountRefunded: 0,
    owedBack: false,
    currency,
    createdAt: new Date().toISOString(),
  };
}

/** Whether the provider has said nothing of it yet: its key is at work, or waits to be taken up again. */
export function isUnsettled({ status }: Charge): boolean {
  return status === 'pending' || status === 'unknown';
}

/** Whether it was refused or ended, so that its order could be paid by another one. */
export function hasEnded(
  charge: Charge,
): charge is Charge & { readonly status: 'declined' | 'rejected' | 'canceled' } {
  const { status } = charge;
  return status === 'declined' || status === 'rejected' || status === 'canceled';
}

/** The charge as the provider's answer leaves it. */
export function settled({ nextAction: _done, ...charge }: Charge, outcome: SettledOutcome): Charge {
  return {
    ...charge,
    status: outcome.status,
    ...('providerId' in outcome && outcome.providerId !== undefined && { providerId: outcome.providerId }),
    ...('nextAction' in outcome && { nextAction: outcome.nextAction }),
    ...('failure' in outcome && { failure: outcome.failure }),
  };
}

/** What a person's decision that nothing was charged comes to: the order is free to be paid again. */
export const PAYMENT_FAILED = {
  status: 'rejected',
  failure: { code: 'payment_failed', message: 'The payment failed.' },
} as const satisfies SettledOutcome;

/** What the provider is asked; frozen with the recovery point before the call. */
export function chargeRequest(
  tenantId: string,
  { id: chargeId, orderId, amount, currency }: Charge,
  paymentMethod: string,
  returnUrl: string,
): ChargeRequest {
  return { tenantId, orderId, chargeId, amount, currency, paymentMethod, returnUrl };
}

/** The charge as clients see it. */
export function chargeBody(charge: Charge): ChargeBody {
  const { id, orderId, status, amount, amountRefunded, currency, nextAction, failure, createdAt } = charge;
  return {
    id,
    orderId,
    status,
    amount,
    amountRefunded,
    currency,
    nextAction: nextAction ?? null,
    failure: failure ?? null,
    createdAt,
  };
}
