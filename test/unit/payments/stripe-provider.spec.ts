import type { ChargeRequest } from '../../../src/payments/payment-provider.js';
import type { StripeProvider } from '../../../src/payments/stripe-provider.js';
import { startMockProvider, type MockProvider } from '../../support/mock-provider.js';
import { adapterAt, chargeRequest, keyOf, refundRequest } from './adapter.js';

let mock: MockProvider;
let payments: StripeProvider;

beforeAll(async () => {
  mock = await startMockProvider();
  payments = adapterAt(mock.url);
});
afterAll(() => mock.stop());
afterEach(() => mock.clearFaults());

const charge = (request: ChargeRequest) => payments.charge(request, keyOf(request));

async function ledgerOf({ chargeId }: ChargeRequest) {
  const { charges } = await mock.ledger();
  return charges.filter(({ metadata }) => metadata['charge_id'] === chargeId);
}

/** Asks until the provider's ledger has it: a call is under way by then. */
async function untilCharged(request: ChargeRequest): Promise<void> {
  let charges: object[] = [];
  while (charges.length === 0) charges = await ledgerOf(request);
}

describe('What a payment method does', () => {
  it.each(['pm_card_visa', 'tok_visa', '4242424242424242'])('%s pays [TC-1]', async (paymentMethod) => {
    const request = chargeRequest({ paymentMethod });
    expect(await charge(request)).toEqual({ status: 'succeeded', providerId: expect.stringMatching(/^pi_/) });
    expect(await ledgerOf(request)).toMatchObject([
      { status: 'succeeded', amount: 1234, currency: 'eur', calls: 1 },
    ]);
  });

  it.each([
    '4000000000000002',
    'pm_card_visa_chargeDeclined',
    'pm_card_chargeDeclined',
    'tok_visa_chargeDeclined',
    'tok_chargeDeclined',
  ])('%s is declined [TC-2]', async (paymentMethod) => {
    const request = chargeRequest({ paymentMethod });
    expect(await charge(request)).toMatchObject({
      status: 'declined',
      failure: { code: 'card_declined', declineCode: 'generic_decline', message: 'Your card was declined.' },
    });
    expect(await ledgerOf(request)).toMatchObject([{ status: 'failed' }]);
  });

  it.each([
    ['4000000000009995', 'card_declined', 'insufficient_funds'],
    ['pm_card_visa_chargeDeclinedInsufficientFunds', 'card_declined', 'insufficient_funds'],
    ['4000000000009987', 'card_declined', 'lost_card'],
    ['4000000000009979', 'card_declined', 'stolen_card'],
    ['4000000000006975', 'card_declined', 'card_velocity_exceeded'],
    ['4000000000000341', 'card_declined', 'generic_decline'],
    ['4000000000000069', 'expired_card', undefined],
    ['4000000000000127', 'incorrect_cvc', undefined],
    ['4242424242424241', 'incorrect_number', undefined],
  ])('%s is declined as %s, %s [TC-3]', async (paymentMethod, code, declineCode) => {
    const outcome = await charge(chargeRequest({ paymentMethod }));
    expect(outcome).toMatchObject({ status: 'declined', failure: { code } });
    expect('failure' in outcome && outcome.failure?.declineCode).toBe(declineCode);
  });

  it.each([
    '4000002500003155',
    '4000002760003184',
    '4000000000003220',
    'pm_card_authenticationRequired',
    'pm_card_threeDSecure2Required',
  ])("%s asks for the customer, who decides at the bank's page [TC-4]", async (paymentMethod) => {
    const request = chargeRequest({ paymentMethod });
    const outcome = await charge(request);
    expect(outcome).toMatchObject({ status: 'requires_action', nextAction: { type: 'redirect_to_url' } });
    if (outcome.status !== 'requires_action') return;
    await answerBank(outcome.nextAction.url, 'succeed');
    expect(await payments.findCharge(request)).toEqual({
      status: 'succeeded',
      providerId: outcome.providerId,
    });
  });

  it('is declined when the customer fails the authentication [TC-4]', async () => {
    const request = chargeRequest({ paymentMethod: 'pm_card_authenticationRequired' });
    const outcome = await charge(request);
    if (outcome.status !== 'requires_action') throw new Error(outcome.status);
    await answerBank(outcome.nextAction.url, 'fail');
    expect(await payments.findCharge(request)).toMatchObject({
      status: 'declined',
      failure: { code: 'payment_intent_authentication_failure' },
    });
  });

  it("is final when the issuer says processing_error, which is not the provider's fault [TC-6]", async () => {
    const request = chargeRequest({ paymentMethod: 'pm_card_chargeDeclinedProcessingError' });
    expect(await charge(request)).toMatchObject({
      status: 'declined',
      failure: { code: 'processing_error' },
    });
  });

  it('can leave the payment in processing', async () => {
    const request = chargeRequest({ paymentMethod: 'pm_usBankAccount_processing' });
    expect(await charge(request)).toMatchObject({ status: 'processing' });
  });

  it('is rejected when nobody knows it, by the name that our API has for it', async () => {
    const request = chargeRequest({ paymentMethod: 'pm_card_nobody' });
    expect(await charge(request)).toMatchObject({
      status: 'rejected',
      failure: { code: 'resource_missing', param: 'paymentMethod' },
    });
    expect(await ledgerOf(request)).toEqual([]);
  });

  const answerBank = (url: string, outcome: string) =>
    fetch(url, {
      method: 'POST',
      body: JSON.stringify({ outcome }),
      headers: { 'Content-Type': 'application/json' },
    });
});

describe('The same derived key', () => {
  it('is the same charge, however often it is sent', async () => {
    const request = chargeRequest();
    const [first, second] = [await charge(request), await charge(request)];
    expect(second).toEqual(first);
    expect(await ledgerOf(request)).toMatchObject([{ calls: 2, idempotencyKey: keyOf(request) }]);
  });

  it('is the same decline: a 402 is final [P-8]', async () => {
    const request = chargeRequest({ paymentMethod: 'pm_card_chargeDeclined' });
    const [first, second] = [await charge(request), await charge(request)];
    expect(second).toEqual(first);
    expect(await ledgerOf(request)).toMatchObject([{ status: 'failed', calls: 2 }]);
  });

  it('may have 255 characters, as Stripe allows [P-4]', async () => {
    const request = chargeRequest();
    expect(await payments.charge(request, 'k'.repeat(255))).toMatchObject({ status: 'succeeded' });
    expect(await payments.charge(chargeRequest(), 'k'.repeat(256))).toMatchObject({ status: 'rejected' });
  });

  it('with another amount is a contradiction, never another charge', async () => {
    const request = chargeRequest();
    await charge(request);
    expect(await charge({ ...request, amount: 999 })).toMatchObject({ status: 'contradicted' });
    expect(await ledgerOf(request)).toMatchObject([{ amount: 1234 }]);
  });

  it('charges once where the connection broke before or after the charge [E-5]', async () => {
    for (const kind of ['drop_before', 'drop_after']) {
      const request = chargeRequest();
      await mock.fault(kind);
      expect(await charge(request)).toMatchObject({ status: 'unknown' });
      expect(await charge(request)).toMatchObject({ status: 'succeeded' });
      expect(await ledgerOf(request)).toMatchObject([{ status: 'succeeded', calls: 2 }]);
    }
  });

  it('repeats a stored 500, and the charge behind it can be found [P-8] [E-4]', async () => {
    const request = chargeRequest();
    await mock.fault('error_after');
    expect(await charge(request)).toMatchObject({
      status: 'unknown',
      reason: expect.stringContaining('500'),
    });
    expect(await charge(request)).toMatchObject({ status: 'unknown', replayed: true });
    expect(await payments.findCharge(request)).toMatchObject({ status: 'succeeded' });
  });

  it('is in use while its first call runs, which settles nothing [P-7]', async () => {
    const request = chargeRequest();
    await mock.fault('delay', { delayMs: 500 });
    const first = charge(request);
    await untilCharged(request);
    const second = await charge(request);
    expect(second).toEqual({ status: 'unknown', reason: expect.stringContaining('409') });
    expect(await first).toMatchObject({ status: 'succeeded' });
  });

  it('is unknown past the deadline, although the provider has charged [P-8] [E-4]', async () => {
    const request = chargeRequest();
    await mock.fault('delay', { delayMs: 2000 });
    const hasty = adapterAt(mock.url, { timeoutSeconds: 0.5 });
    expect(await hasty.charge(request, keyOf(request))).toEqual({
      status: 'unknown',
      reason: 'no answer within 500 ms',
      away: true,
    });
    await untilCharged(request);
  });
});

describe('A fault at the provider', () => {
  it.each([
    ['error_before', 'unknown'],
    ['conflict', 'unknown'],
    ['down', 'unknown'],
    ['drop_before', 'unknown'],
    ['rate_limit', 'not_acted'],
  ])('%s is %s, and the same key charges once it is over [P-7] [P-8]', async (kind, status) => {
    const request = chargeRequest();
    await mock.fault(kind);
    expect(await charge(request)).toMatchObject({ status });
    expect(await ledgerOf(request)).toEqual([]);
    expect(await charge(request)).toMatchObject({ status: 'succeeded' });
  });

  it('decline refuses the next charge, whatever the card', async () => {
    await mock.fault('decline');
    expect(await charge(chargeRequest())).toMatchObject({ status: 'declined' });
    expect(await charge(chargeRequest())).toMatchObject({ status: 'succeeded' });
  });

  it('is not_acted where our API key is not known', async () => {
    const stranger = adapterAt(mock.url, { apiKey: 'nobody' });
    expect(await stranger.charge(chargeRequest(), 'unauthorized')).toMatchObject({ status: 'not_acted' });
  });
});

describe('Looking a charge up', () => {
  it('finds it by our id', async () => {
    const request = chargeRequest();
    const made = await charge(request);
    expect(await payments.findCharge(request)).toEqual(made);
  });

  it('finds a decline, with its reason', async () => {
    const request = chargeRequest({ paymentMethod: 'pm_card_chargeDeclinedInsufficientFunds' });
    const made = await charge(request);
    expect(await payments.findCharge(request)).toEqual(made);
  });

  it('finds it by search where a hundred newer ones hide it from the list', async () => {
    const request = chargeRequest();
    await charge(request);
    await Promise.all(Array.from({ length: 100 }, () => charge(chargeRequest())));
    expect(await payments.findCharge(request)).toMatchObject({ status: 'succeeded' });
  });

  it('takes absence for no proof', async () => {
    expect(await payments.findCharge(chargeRequest())).toMatchObject({ status: 'unknown' });
  });

  it.each(['search_down', 'down'])('learns nothing while the provider is %s', async (kind) => {
    const request = chargeRequest();
    await charge(request);
    await mock.fault(kind, { times: 2 });
    expect(await payments.findCharge(request)).toMatchObject({ status: 'unknown' });
  });

  it('does not adopt another amount', async () => {
    const request = chargeRequest();
    await charge(request);
    expect(await payments.findCharge({ ...request, amount: 999 })).toMatchObject({ status: 'contradicted' });
  });

  it('does not choose between two payments of one charge', async () => {
    const request = chargeRequest();
    await payments.charge(request, `${keyOf(request)}:a`);
    await payments.charge(request, `${keyOf(request)}:b`);
    expect(await payments.findCharge(request)).toMatchObject({ status: 'contradicted' });
  });
});

describe('A refund', () => {
  async function paid(paymentMethod = 'pm_card_visa'): Promise<string> {
    const outcome = await charge(chargeRequest({ paymentMethod }));
    if (outcome.status !== 'succeeded') throw new Error(outcome.status);
    return outcome.providerId;
  }

  it('is made once under its own key, and found by our id', async () => {
    const request = refundRequest(await paid(), { amount: 1000, reason: 'duplicate' });
    const first = await payments.refund(request, `test:${request.refundId}`);
    expect(first).toEqual({ status: 'succeeded', providerId: expect.stringMatching(/^re_/) });
    expect(await payments.refund(request, `test:${request.refundId}`)).toEqual(first);
    expect(await payments.findRefund(request)).toEqual(first);
    const { refunds } = await mock.ledger();
    expect(refunds.filter(({ charge }) => charge === request.providerId)).toMatchObject([
      { amount: 1000, calls: 2 },
    ]);
  });

  it('of more than is left is rejected, and names the amount', async () => {
    const providerId = await paid();
    expect(
      await payments.refund(refundRequest(providerId, { amount: 1235 }), `${providerId}:a`),
    ).toMatchObject({
      status: 'rejected',
      failure: { param: 'amount' },
    });
    await payments.refund(refundRequest(providerId), `${providerId}:b`);
    expect(await payments.refund(refundRequest(providerId), `${providerId}:c`)).toMatchObject({
      status: 'rejected',
      failure: { code: 'charge_already_refunded' },
    });
  });

  it('of a payment that nobody knows is rejected', async () => {
    expect(await payments.refund(refundRequest('pi_nobody'), 'refund-of-nothing')).toMatchObject({
      status: 'rejected',
    });
  });

  it('may be pending and then succeed, or succeed and then fail [TC-5]', async () => {
    for (const [card, before, after] of [
      ['4000000000007726', 'pending', 'succeeded'],
      ['pm_card_refundFail', 'succeeded', 'failed'],
    ] as const) {
      const request = refundRequest(await paid(card));
      const made = await payments.refund(request, `test:${request.refundId}`);
      expect(made).toMatchObject({ status: before });
      await fetch(`${mock.url}/_settle/${'providerId' in made && made.providerId}`, { method: 'POST' });
      expect(await payments.findRefund(request)).toMatchObject({ status: after });
    }
  });

  it('is unknown where nobody can tell, and is looked up', async () => {
    const request = refundRequest(await paid());
    await mock.fault('drop_after');
    expect(await payments.refund(request, `test:${request.refundId}`)).toMatchObject({ status: 'unknown' });
    expect(await payments.findRefund(request)).toMatchObject({ status: 'succeeded' });
    expect(await payments.findRefund(refundRequest(request.providerId))).toMatchObject({ status: 'unknown' });
  });
});
