import { Injectable } from '@nestjs/common';
import Stripe from 'stripe';
import { Config } from '../config/config.js';
import { BoundedHttpClient } from './bounded-http-client.js';
import type { ChargeNews, RefundNews } from './payment-event.js';
import {
  PaymentProvider,
  type ChargeOutcome,
  type ChargeRequest,
  type ChargeTerms,
  type RefundOutcome,
  type RefundRequest,
  type RefundTerms,
  type UnsettledOutcome,
} from './payment-provider.js';
import { chargeContradiction, chargeOutcome, refundOutcome } from './stripe-answers.js';
import { refusalOf } from './stripe-errors.js';
import { chargeNews, refundNews } from './stripe-news.js';
import { chargeParameters, refundParameters } from './stripe-requests.js';

/** What one page of a list holds at most. */
const PAGE = 100;

/** The port to Stripe, or to whatever speaks its wire format at `STRIPE_API_URL`. */
@Injectable()
export class StripeProvider extends PaymentProvider {
  private readonly stripe: Stripe;

  constructor({ provider, timings }: Config) {
    super();
    const secure = provider.url.protocol === 'https:';
    this.stripe = new Stripe(provider.apiKey, {
      protocol: secure ? 'https' : 'http',
      host: provider.url.hostname,
      port: provider.url.port || (secure ? 443 : 80),
      timeout: Math.ceil(timings.providerTimeout * 1000),
      maxNetworkRetries: 0, // the engine retries, and counts
      httpClient: new BoundedHttpClient(),
      telemetry: false,
    });
  }

  async charge(request: ChargeRequest, derivedKey: string): Promise<ChargeOutcome> {
    try {
      const created = await this.stripe.paymentIntents.create(chargeParameters(request), {
        idempotencyKey: derivedKey,
      });
      return chargeOutcome(created, request);
    } catch (error) {
      return refusedCharge(error, request);
    }
  }

  async findCharge(request: ChargeRequest): Promise<ChargeOutcome> {
    try {
      const [intent, ...others] = await this.intentsOf(request.chargeId);
      if (others.length > 0)
        return { status: 'contradicted', reason: `${request.chargeId} has several payments` };
      return intent ? chargeOutcome(intent, request) : notFound(request.chargeId);
    } catch (error) {
      return failedLookup(error);
    }
  }

  async retrieveCharge(terms: ChargeTerms, providerId: string): Promise<ChargeOutcome> {
    try {
      return chargeOutcome(await this.stripe.paymentIntents.retrieve(providerId), terms);
    } catch (error) {
      return failedRetrieval(error, providerId);
    }
  }

  async cancelCharge(terms: ChargeTerms, providerId: string): Promise<ChargeOutcome> {
    try {
      const canceled = await this.stripe.paymentIntents.cancel(providerId, {
        cancellation_reason: 'abandoned',
      });
      return chargeOutcome(canceled, terms);
    } catch (error) {
      const refusal = refusalOf(error);
      return refusal.status === 'rejected' ? this.retrieveCharge(terms, providerId) : failedLookup(error);
    }
  }

  async refund(request: RefundRequest, derivedKey: string): Promise<RefundOutcome> {
    try {
      const created = await this.stripe.refunds.create(refundParameters(request), {
        idempotencyKey: derivedKey,
      });
      return refundOutcome(created, request);
    } catch (error) {
      const refusal = refusalOf(error);
      return refusal.status === 'declined' ? { status: 'rejected', failure: refusal.failure } : refusal;
    }
  }

  async findRefund(request: RefundRequest): Promise<RefundOutcome> {
    try {
      const { data } = await this.stripe.refunds.list({ payment_intent: request.providerId, limit: PAGE });
      const refund = data.find(({ metadata }) => metadata?.['refund_id'] === request.refundId);
      return refund ? refundOutcome(refund, request) : notFound(request.refundId);
    } catch (error) {
      return failedLookup(error);
    }
  }

  async retrieveRefund(terms: RefundTerms, providerId: string): Promise<RefundOutcome> {
    try {
      return refundOutcome(await this.stripe.refunds.retrieve(providerId), terms);
    } catch (error) {
      return failedRetrieval(error, providerId);
    }
  }

  async *list(since: Date): AsyncIterable<ChargeNews | RefundNews> {
    const page = { created: { gte: Math.floor(since.getTime() / 1_000) }, limit: PAGE };
    for await (const intent of this.stripe.paymentIntents.list(page)) {
      const news = chargeNews(intent);
      if (news) yield news;
    }
    for await (const refund of this.stripe.refunds.list(page)) {
      const news = refundNews(refund);
      if (news) yield news;
    }
  }

  /** The newest payments first: a list shows them at once, where Stripe's search lags behind by up to a minute. */
  private async intentsOf(chargeId: string): Promise<Stripe.PaymentIntent[]> {
    const named = ({ metadata }: Stripe.PaymentIntent) => metadata?.['charge_id'] === chargeId;
    const newest = await this.stripe.paymentIntents.list({ limit: PAGE });
    const fresh = newest.data.filter(named);
    if (fresh.length > 0) return fresh;
    const older = await this.stripe.paymentIntents.search({
      query: `metadata['charge_id']:'${chargeId}'`,
      limit: PAGE,
    });
    return older.data.filter(named);
  }
}

/** A decline comes with the payment that was tried: it has to be ours, and must not be alive. */
function refusedCharge(error: unknown, request: ChargeRequest): ChargeOutcome {
  const refusal = refusalOf(error);
  if (refusal.status !== 'declined') return refusal;
  const { intent, failure } = refusal;
  if (!intent) return { status: 'declined', failure };
  const contradiction = chargeContradiction(intent, request) ?? alive(intent);
  return contradiction
    ? { status: 'contradicted', reason: contradiction }
    : { status: 'declined', providerId: intent.id, failure };
}

function alive({ id, status }: Stripe.PaymentIntent): string | undefined {
  const over = ['requires_payment_method', 'canceled'].includes(status);
  return over ? undefined : `${id} was declined and is ${status}`;
}

/** Absence proves nothing: the call that made it may still be on its way. */
function notFound(id: string): UnsettledOutcome {
  return { status: 'unknown', reason: `nothing was found for ${id}`, absent: true };
}

/** Named by its id, what is not there is not late, as it may be in a search: it is not there. */
function failedRetrieval(error: unknown, providerId: string): UnsettledOutcome {
  const refusal = refusalOf(error);
  if (refusal.status !== 'rejected') return failedLookup(error);
  const absent = refusal.failure.code === 'resource_missing';
  return {
    status: 'contradicted',
    reason: `${providerId} is unknown to the provider`,
    ...(absent && { absent }),
  };
}

/** A look-up that was refused says nothing about what was looked for. */
function failedLookup(error: unknown): UnsettledOutcome {
  const refusal = refusalOf(error);
  if (!('reason' in refusal))
    return { status: 'unknown', reason: `the look-up failed: ${refusal.failure.code}` };
  return { ...refusal, status: 'unknown', reason: `the look-up failed: ${refusal.reason}` };
}
