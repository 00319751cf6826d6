import { Injectable } from '@nestjs/common';
import type Stripe from 'stripe';
import { Config } from '../config/config.js';
import { PaymentEvents, type ChargeNews, type PaymentEvent, type RefundNews } from './payment-event.js';
import type { ChargeOutcome } from './payment-provider.js';
import { chargeStanding, idOf, refundStanding } from './stripe-answers.js';
import { verifiedEvent } from './stripe-signature.js';

/** The events that tell of a state that matters; whatever else an endpoint is subscribed to is answered and dropped. */
const CHARGE_EVENTS = [
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'payment_intent.requires_action',
  'payment_intent.processing',
  'payment_intent.canceled',
];
const REFUND_EVENTS = ['refund.created', 'refund.updated', 'refund.failed', 'charge.refund.updated'];

/** Stripe's webhooks. Source: https://docs.stripe.com/api/events/types. */
@Injectable()
export class StripeEvents extends PaymentEvents {
  private readonly secrets: readonly string[];

  constructor({ provider }: Config) {
    super();
    this.secrets = provider.webhookSecrets;
  }

  read(bytes: Buffer, signature: string | undefined, now = Date.now()): PaymentEvent | undefined {
    const { id, type, data } = verifiedEvent(bytes, signature, this.secrets, now);
    const news = newsOf(type, data.object);
    return news && { id, type, news };
  }
}

function newsOf(type: string, object: unknown): ChargeNews | RefundNews | undefined {
  if (CHARGE_EVENTS.includes(type)) return chargeNews(object as Stripe.PaymentIntent);
  if (REFUND_EVENTS.includes(type)) return refundNews(object as Stripe.Refund);
  return undefined;
}

function chargeNews(intent: Stripe.PaymentIntent): ChargeNews | undefined {
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

function refundNews(refund: Stripe.Refund): RefundNews | undefined {
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
