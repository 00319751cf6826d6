import { loadConfig, type Config } from '../../../src/config/config.js';
import type { ChargeRequest, RefundRequest } from '../../../src/payments/payment-provider.js';
import { StripeProvider } from '../../../src/payments/stripe-provider.js';

/** What an adapter needs to be told; the rest is there because the whole is checked. */
export function configAt(
  url: string,
  webhookSecrets = '',
  { timeoutSeconds = 5, apiKey = 'sk_test_adapter' } = {},
): Config {
  return loadConfig({
    DATABASE_URL: 'postgres://localhost/unused',
    SMTP_URL: 'smtp://localhost',
    HASH_SECRET: 'x'.repeat(32),
    PROVIDER_KEY_PREFIX: 'test',
    STRIPE_API_URL: url,
    STRIPE_API_KEY: apiKey,
    STRIPE_WEBHOOK_SECRETS: webhookSecrets,
    PROVIDER_TIMEOUT_SECONDS: String(timeoutSeconds),
  });
}

/** The adapter as the service configures it, at a provider of the test's own. */
export function adapterAt(url: string, settings: { timeoutSeconds?: number; apiKey?: string } = {}) {
  return new StripeProvider(configAt(url, '', settings));
}

let count = 0;

/** A charge of its own: no two have the same ids. */
export function chargeRequest(changes: Partial<ChargeRequest> = {}): ChargeRequest {
  count += 1;
  return {
    tenantId: 'acme',
    orderId: `ord_${count}`,
    chargeId: `ch_${count}`,
    amount: 1234,
    currency: 'eur',
    paymentMethod: 'pm_card_visa',
    returnUrl: 'https://shop.example/paid',
    ...changes,
  };
}

export function refundRequest(providerId: string, changes: Partial<RefundRequest> = {}): RefundRequest {
  count += 1;
  return { tenantId: 'acme', refundId: `re_${count}`, providerId, amount: 1234, currency: 'eur', ...changes };
}

export const keyOf = ({ chargeId }: ChargeRequest) => `test:${chargeId}:charge`;
