import { newId, secondsNow, type PaymentIntent, type Refund } from './objects.js';
import type { Parameters } from './parameters.js';
import { findPaymentMethod } from './payment-methods.js';
import { invalidRequest } from './provider-error.js';

const CREATE = ['amount', 'metadata', 'payment_intent', 'reason'];
const REASONS = ['duplicate', 'fraudulent', 'requested_by_customer'] as const;

/** @param earlier the refunds that the intent has had */
export function createRefund(
  intent: PaymentIntent,
  earlier: readonly Refund[],
  parameters: Parameters,
): Refund {
  parameters.allowOnly(CREATE);
  const left = refundable(intent, earlier);
  const amount = parameters.integer('amount') ?? left;
  if (amount < 1) throw invalidRequest('Invalid positive integer', 'parameter_invalid_integer', 'amount');
  if (amount > left) {
    const message = `Refund amount (${amount}) is greater than unrefunded amount on charge (${left})`;
    throw invalidRequest(message, undefined, 'amount');
  }
  const { refund } = findPaymentMethod(intent.payment_method!);
  return {
    id: newId('re'),
    object: 'refund',
    amount,
    charge: intent.latest_charge,
    created: secondsNow(),
    currency: intent.currency,
    metadata: parameters.map('metadata'),
    payment_intent: intent.id,
    reason: parameters.oneOf('reason', REASONS) ?? null,
    status: refund === 'pend' ? 'pending' : 'succeeded',
  };
}

/** The days that pass: a pending refund arrives; one to a card that refuses it comes back. */
export function settleRefund(refund: Refund, intent: PaymentIntent): Refund {
  const method = findPaymentMethod(intent.payment_method!);
  if (refund.status === 'pending') return { ...refund, status: 'succeeded' };
  if (refund.status === 'succeeded' && method.refund === 'fail') {
    return { ...refund, status: 'failed', failure_reason: 'declined' };
  }
  throw invalidRequest(`Nothing more happens to this refund: its status is ${refund.status}.`);
}

function refundable(intent: PaymentIntent, earlier: readonly Refund[]): number {
  if (intent.status !== 'succeeded') {
    throw invalidRequest(
      `This PaymentIntent does not have a successful charge to refund.`,
      'charge_not_refundable',
    );
  }
  const back = earlier
    .filter(({ status }) => status !== 'failed')
    .reduce((sum, { amount }) => sum + amount, 0);
  if (back === intent.amount_received)
    throw invalidRequest('Charge has already been refunded.', 'charge_already_refunded');
  return intent.amount_received - back;
}
