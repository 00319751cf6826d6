import { randomUUID } from 'node:crypto';
import type {
  ChargeOutcome,
  ChargeRequest,
  PaymentProvider,
  RefundRequest,
} from '../../src/payments/payment-provider.js';
import { startMockProvider } from '../support/mock-provider.js';
import { stripeTestKey } from '../support/stripe-test-mode.js';
import { adapterAt, chargeRequest } from '../unit/payments/adapter.js';

interface Target {
  readonly payments: PaymentProvider;
  readonly stop: () => Promise<void>;
}

/** An account outlives its tests: ids of every run are new. */
const request = (changes: Partial<ChargeRequest> = {}) =>
  chargeRequest({ orderId: `ord_${randomUUID()}`, chargeId: `ch_${randomUUID()}`, ...changes });
const keyOf = (id: string, step: string) => `smoke:${id}:${step}`;

/** What the service builds on; the mock provider stands for it, and Stripe itself must agree. */
function keepsItsPromises(open: () => Promise<Target>): void {
  let target: Target;
  beforeAll(async () => void (target = await open()));
  afterAll(() => target.stop());

  const charge = (asked: ChargeRequest) => target.payments.charge(asked, keyOf(asked.chargeId, 'charge'));
  const paid = async (asked: ChargeRequest): Promise<string> => {
    const outcome = await charge(asked);
    expect(outcome).toEqual({ status: 'succeeded', providerId: expect.stringMatching(/^pi_/) });
    return (outcome as Extract<ChargeOutcome, { status: 'succeeded' }>).providerId;
  };

  it('charges once under one derived key, however often it is sent, and finds the charge by our id', async () => {
    const asked = request();
    const providerId = await paid(asked);
    expect(await charge(asked)).toEqual({ status: 'succeeded', providerId });
    expect(await target.payments.findCharge(asked)).toEqual({ status: 'succeeded', providerId }); // several: contradicted
    expect(await target.payments.retrieveCharge(asked, providerId)).toEqual({
      status: 'succeeded',
      providerId,
    });
  });

  it('refuses another request under a derived key that it knows', async () => {
    const asked = request();
    await paid(asked);
    expect(await charge({ ...asked, amount: asked.amount + 1 })).toMatchObject({ status: 'contradicted' });
  });

  it('declines for good, and says so again', async () => {
    const asked = request({ paymentMethod: 'pm_card_visa_chargeDeclined' });
    const declined = { status: 'declined', failure: { code: 'card_declined' } };
    expect(await charge(asked)).toMatchObject(declined);
    expect(await charge(asked)).toMatchObject(declined);
  });

  it('sends a customer who must authenticate to a page', async () => {
    const outcome = await charge(request({ paymentMethod: 'pm_card_authenticationRequired' }));
    expect(outcome).toMatchObject({
      status: 'requires_action',
      nextAction: { type: 'redirect_to_url', url: expect.stringMatching(/^https?:/) },
    });
  });

  it('refunds once under one derived key, and finds the refund by our id', async () => {
    const asked = request();
    const providerId = await paid(asked);
    const { tenantId, currency } = asked;
    const refund: RefundRequest = {
      tenantId,
      refundId: `re_${randomUUID()}`,
      providerId,
      amount: 500,
      currency,
    };
    const send = () => target.payments.refund(refund, keyOf(refund.refundId, 'refund'));
    const made = await send();
    expect(made).toMatchObject({ status: 'succeeded', providerId: expect.stringMatching(/^(re|pyr)_/) });
    expect(await send()).toEqual(made);
    expect(await target.payments.findRefund(refund)).toEqual(made);
  });
}

describe('The mock provider', () => {
  keepsItsPromises(async () => {
    const { url, stop } = await startMockProvider();
    return { payments: adapterAt(url), stop };
  });
});

const apiKey = stripeTestKey();
const why = apiKey ? '' : ' (skipped: STRIPE_API_KEY is not set; with sk_test_… of an account it runs)';

(apiKey ? describe : describe.skip)(`Stripe in test mode${why}`, () => {
  keepsItsPromises(async () => ({
    payments: adapterAt('https://api.stripe.com', { apiKey: apiKey!, timeoutSeconds: 9 }),
    stop: () => Promise.resolve(),
  }));
});

describe('The key for it', () => {
  it('must be of test mode, whatever it may do', () => {
    for (const key of ['sk_live_0123', 'rk_live_0123', 'pk_test_0123', 'whsec_0123'])
      expect(() => stripeTestKey({ STRIPE_API_KEY: key })).toThrow('is not of test mode');
    expect(stripeTestKey({ STRIPE_API_KEY: 'sk_test_0123' })).toBe('sk_test_0123');
    expect(stripeTestKey({ STRIPE_API_KEY: '' })).toBeUndefined();
  });
});
