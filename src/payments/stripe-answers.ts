import type Stripe from 'stripe';
import type { ChargeOutcome, ChargeTerms, Failure, RefundOutcome, RefundTerms } from './payment-provider.js';
import { chargeMetadata, refundMetadata } from './stripe-requests.js';

/** What a payment intent says about the charge that was asked for. Nothing is paid unless it says `succeeded`. */
export function chargeOutcome(intent: Stripe.PaymentIntent, request: ChargeTerms): ChargeOutcome {
  if (intent.object !== 'payment_intent' || !intent.id) return unreadable;
  const contradiction = chargeContradiction(intent, request);
  if (contradiction) return { status: 'contradicted', reason: contradiction };
  return chargeStanding(intent);
}

/** What a payment intent says about itself. */
export function chargeStanding(intent: Stripe.PaymentIntent): ChargeOutcome {
  const providerId = intent.id;
  switch (intent.status) {
    case 'succeeded':
      return { status: 'succeeded', providerId };
    case 'processing':
      return { status: 'processing', providerId };
    case 'requires_action':
      return requiredAction(intent);
    case 'requires_payment_method':
      return intent.last_payment_error
        ? { status: 'declined', providerId, failure: failureOf(intent.last_payment_error) }
        : notTried(intent);
    case 'canceled':
      return { status: 'canceled', providerId };
    case 'requires_capture':
      return { status: 'contradicted', reason: `${providerId} is requires_capture, which was not asked for` };
    default:
      return notTried(intent);
  }
}

/** A look-up can meet a payment whose create-and-confirm still runs: only the answer to that settles it. */
function notTried({ id, status }: Stripe.PaymentIntent): ChargeOutcome {
  return { status: 'unknown', reason: `${id} is still ${status}` };
}

function requiredAction({ id, next_action: action }: Stripe.PaymentIntent): ChargeOutcome {
  const url = action?.redirect_to_url?.url;
  if (!url)
    return { status: 'contradicted', reason: `${id} requires ${action?.type ?? 'nothing'}, not a redirect` };
  return { status: 'requires_action', providerId: id, nextAction: { type: 'redirect_to_url', url } };
}

/** How the intent differs from the request; undefined where it is the one that was asked for. */
export function chargeContradiction(intent: Stripe.PaymentIntent, request: ChargeTerms): string | undefined {
  const differs = differences(intent, request, chargeMetadata(request));
  if (intent.status === 'succeeded' && intent.amount_received !== request.amount)
    differs.push('amount_received');
  return differs.length === 0 ? undefined : `${intent.id} differs in ${differs.join(', ')}`;
}

export function refundOutcome(refund: Stripe.Refund, request: RefundTerms): RefundOutcome {
  if (refund.object !== 'refund' || !refund.id) return unreadable;
  const differs = differences(refund, request, refundMetadata(request));
  if (idOf(refund.payment_intent) !== request.providerId) differs.push('payment_intent');
  if (differs.length > 0)
    return { status: 'contradicted', reason: `${refund.id} differs in ${differs.join(', ')}` };
  return refundStanding(refund);
}

/** What a refund says about itself. */
export function refundStanding({ id, status, failure_reason: reason }: Stripe.Refund): RefundOutcome {
  switch (status) {
    case 'pending':
    case 'requires_action':
    case 'succeeded':
    case 'canceled':
      return { status, providerId: id };
    case 'failed':
      return {
        status,
        providerId: id,
        failure: { code: reason ?? 'unknown', message: 'The refund failed.' },
      };
    default:
      return { status: 'unknown', reason: `${id} has the status ${status}` };
  }
}

interface Counted {
  readonly amount: number;
  readonly currency: string;
}

function differences(
  answer: Counted & { metadata: unknown },
  request: Counted,
  ids: Record<string, string>,
): string[] {
  const metadata = (answer.metadata ?? {}) as Record<string, unknown>;
  return [
    ...(answer.amount === request.amount ? [] : ['amount']),
    ...(answer.currency === request.currency ? [] : ['currency']),
    ...Object.keys(ids).filter((name) => metadata[name] !== ids[name]),
  ];
}

/** Our names for what the provider's parameters are called in our API. */
const PARAMS: Readonly<Record<string, string>> = {
  payment_method: 'paymentMethod',
  amount: 'amount',
  currency: 'currency',
  reason: 'reason',
};

interface StripeFailure {
  readonly code?: string;
  readonly decline_code?: string;
  readonly message?: string;
  readonly param?: string;
}

/** Why it was refused, for the client. */
export function failureOf({ code, decline_code: declineCode, message, param }: StripeFailure): Failure {
  const ours = param === undefined ? undefined : PARAMS[param];
  return {
    code: code ?? 'unknown',
    ...(declineCode ? { declineCode } : {}),
    message: message ?? 'The payment provider gave no reason.',
    ...(ours === undefined ? {} : { param: ours }),
  };
}

const unreadable = { status: 'unknown', reason: 'the answer is not one of the provider’s' } as const;

export function idOf(reference: string | { id: string } | null): string | undefined {
  return typeof reference === 'string' ? reference : reference?.id;
}
