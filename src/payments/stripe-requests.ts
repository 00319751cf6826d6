import type Stripe from 'stripe';
import type { ChargeRequest, ChargeTerms, RefundRequest } from './payment-provider.js';

/**
 * What is sent for a charge, in an order that depends on nothing: a retry under the same derived key must repeat
 * every parameter, or Stripe refuses it.
 *
 * Automatic payment methods with a return URL take whatever the Stripe account has switched on, and answer an
 * authentication with a page to redirect to, which is what a service without Stripe.js in its reach can pass on.
 */
export function chargeParameters(request: ChargeRequest): Stripe.PaymentIntentCreateParams {
  return {
    amount: request.amount,
    currency: request.currency,
    payment_method: request.paymentMethod,
    confirm: true,
    automatic_payment_methods: { enabled: true },
    return_url: request.returnUrl,
    metadata: chargeMetadata(request),
  };
}

export function refundParameters(request: RefundRequest): Stripe.RefundCreateParams {
  return {
    payment_intent: request.providerId,
    amount: request.amount,
    ...(request.reason === undefined ? {} : { reason: request.reason }),
    metadata: refundMetadata(request),
  };
}

/** Our ids at the provider: an answer must carry them, and without an answer they find the charge. */
export function chargeMetadata({ tenantId, orderId, chargeId }: ChargeTerms): Record<string, string> {
  return { tenant_id: tenantId, order_id: orderId, charge_id: chargeId };
}

export function refundMetadata({ tenantId, refundId }: RefundRequest): Record<string, string> {
  return { tenant_id: tenantId, refund_id: refundId };
}
