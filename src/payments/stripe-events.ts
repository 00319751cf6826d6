import { Injectable } from '@nestjs/common';
import type Stripe from 'stripe';
import { Config } from '../config/config.js';
import { PaymentEvents, type ChargeNews, type PaymentEvent, type RefundNews } from './payment-event.js';
import { chargeNews, refundNews } from './stripe-news.js';
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
