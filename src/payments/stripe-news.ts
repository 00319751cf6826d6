import type Stripe from 'stripe';
import type { ChargeNews, RefundNews } from './payment-event.js';
import type { ChargeOutcome } from './payment-provider.js';
import { chargeStanding, idOf, refundStanding } from './stripe-answers.js';

/** What a payment says of a charge of ours. @returns undefined where it is none of ours, or was not tried yet */
export function chargeNews(intent: Stripe.PaymentIntent): ChargeNews | undefined {
  const { tenant_id: tenantId, charge_id: chargeId, order_id: orderId } = intent.metadata ?? {};
  const outcome = wholly(intent, chargeStanding(intent));
  if (!isTenantId(tenantId) || !chargeId || outcome.status === 'unknown') return undefined;
  const { id: providerId, amount, currency } = intent;
  return { about: 'charge', tenantId, chargeId, orderId, providerId, amount, currency, outcome };
}

/** A payment that brought in another sum than it was for is not the one that was asked for. */
function wholly(
  { id, amount, amount_received }: Stripe.PaymentIntent,
  outcome: ChargeOutcome,
): ChargeOutcome {
  return outcome.status === 'succeeded' && amount_received !== amount
    ? { status: 'contradicted', reason: `${id} differs in amount_received` }
    : outcome;
}

/** What a refund at the provider says of one of ours. @returns undefined where it is none of ours */
export function refundNews(refund: Stripe.Refund): RefundNews | undefined {
  const { tenant_id: tenantId, refund_id: refundId } = refund.metadata ?? {};
  const outcome = refundStanding(refund);
  if (!isTenantId(tenantId) || !refundId || outcome.status === 'unknown') return undefined;
  const { id: providerId, amount, currency } = refund;
  const paymentId = idOf(refund.payment_intent);
  return { about: 'refund', tenantId, refundId, providerId, paymentId, amount, currency, outcome };
}

/** Whatever is in the metadata, no query is asked for what could be no tenant of ours. */
function isTenantId(id: string | undefined): id is string {
  return id !== undefined && /^[\x21-\x7e]{1,63}$/.test(id);
}
