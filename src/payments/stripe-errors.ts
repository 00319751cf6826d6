import Stripe from 'stripe';
import { AnswerLost, NotSent } from './bounded-http-client.js';
import type { Failure, UnsettledOutcome } from './payment-provider.js';
import { retryAfterSeconds } from './retry-after.js';
import { failureOf } from './stripe-answers.js';

export type Refusal =
  | { readonly status: 'declined'; readonly failure: Failure; readonly intent?: Stripe.PaymentIntent }
  | { readonly status: 'rejected'; readonly failure: Failure }
  | UnsettledOutcome;

/**
 * What an error says about whether the provider acted. Only the provider's own words settle anything: whatever is
 * not clearly a refusal is `unknown`, and is asked again under the same derived key.
 */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof Stripe.errors.StripeError)) return { status: 'unknown', reason: String(error) };
  if (error instanceof Stripe.errors.StripeConnectionError) return lost(error);
  const reason = reasonOf(error);
  switch (error.statusCode) {
    case 402:
      // Also where the code is `processing_error`: that is the issuer's word, not a fault on the way (TC-6).
      return {
        status: 'declined',
        failure: failureOf(error),
        ...(error.payment_intent && { intent: error.payment_intent }),
      };
    case 400:
      return badRequest(error, reason);
    case 404:
      // A missing object is a final answer; a missing route is a wrong STRIPE_API_URL, which can be mended.
      return error.code === 'resource_missing'
        ? { status: 'rejected', failure: failureOf(error) }
        : { status: 'not_acted', reason };
    case 401:
    case 403:
    case 429:
      return { status: 'not_acted', reason, ...pause(error.headers) };
    default:
      return { status: 'unknown', reason, ...faultOf(error), ...pause(error.headers) };
  }
}

/** Stripe stores its 500s: a replayed one is replayed for as long as the key lives, and says nothing of today. */
function faultOf({ statusCode = 0, headers }: Stripe.errors.StripeError): {
  away?: true;
  replayed?: true;
} {
  if (statusCode < 500) return {};
  return headers?.['idempotent-replayed'] === 'true' ? { replayed: true } : { away: true };
}

function badRequest(error: Stripe.errors.StripeError, reason: string): Refusal {
  if (error.rawType === 'idempotency_error') return { status: 'contradicted', reason };
  if (error.code === 'rate_limit') return { status: 'not_acted', reason, ...pause(error.headers) };
  return { status: 'rejected', failure: failureOf(error) };
}

/** `detail` is what our HTTP client threw. */
function lost({ detail }: Stripe.errors.StripeConnectionError): UnsettledOutcome {
  const cause: unknown = detail;
  const { message: reason } = cause as Error;
  if (cause instanceof NotSent) return { status: 'not_acted', reason, away: true };
  return { status: 'unknown', reason, away: true, ...(cause instanceof AnswerLost && pause(cause.headers)) };
}

function pause(headers: Parameters<typeof retryAfterSeconds>[0]): { retryAfterSeconds?: number } {
  const seconds = retryAfterSeconds(headers);
  return seconds === undefined ? {} : { retryAfterSeconds: seconds };
}

/** For operators; without the provider's message, which may repeat values of the request. */
function reasonOf({ statusCode, rawType, code, requestId }: Stripe.errors.StripeError): string {
  return [statusCode, rawType, code, requestId].filter(Boolean).join(' ');
}
