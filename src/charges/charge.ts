import { typeid } from 'typeid-js';
import type { Order } from '../orders/order.js';
import type { ChargeRequest, Failure, NextAction } from '../payments/payment-provider.js';

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

export interface Charge {
  readonly id: string;
  readonly orderId: string;
  readonly status: ChargeStatus;
  /** In the provider's smallest unit. */
  readonly amount: number;
  readonly amountRefunded: number;
  readonly currency: string;
  /** The provider's name of the payment, once it is known. */
  readonly providerId?: string;
  readonly nextAction?: NextAction;
  readonly failure?: Failure;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** The intent to charge; recorded before the provider is asked. */
export function newCharge({ id: orderId, amount, currency }: Order): Charge {
  return {
    id: typeid('ch').toString(),
    orderId,
    status: 'pending',
    amount,
    amountRefunded: 0,
    currency,
    createdAt: new Date().toISOString(),
  };
}

/** What the provider is asked; frozen with the recovery point before the call. */
export function chargeRequest(tenantId: string, charge: Charge, paymentMethod: string): ChargeRequest {
  const { id: chargeId, orderId, amount, currency } = charge;
  return { tenantId, orderId, chargeId, amount, currency, paymentMethod };
}

/** The charge as clients see it. */
export function chargeBody(charge: Charge): Record<string, unknown> {
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
