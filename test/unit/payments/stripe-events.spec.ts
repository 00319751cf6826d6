import type { PaymentEvent } from '../../../src/payments/payment-event.js';
import { NotAnEvent, SignatureInvalid } from '../../../src/payments/payment-event.js';
import { StripeEvents } from '../../../src/payments/stripe-events.js';
import { eventAbout, eventOf, hmac, OLD_SECRET, SECRET } from '../../support/webhooks.js';
import { configAt } from './adapter.js';

const events = new StripeEvents(configAt('http://127.0.0.1:9', `${SECRET},${OLD_SECRET}`));
const NOW = 1_764_374_400;

const intent = {
  id: 'pi_1',
  object: 'payment_intent',
  status: 'succeeded',
  amount: 1700,
  amount_received: 1700,
  currency: 'eur',
  metadata: { tenant_id: 'acme', order_id: 'ord_1', charge_id: 'ch_1' },
};
const refund = {
  id: 're_1',
  object: 'refund',
  status: 'succeeded',
  amount: 1700,
  currency: 'eur',
  payment_intent: 'pi_1',
  metadata: { tenant_id: 'acme', refund_id: 're_ours' },
};

function read(event: unknown, now = NOW * 1_000, header?: string): PaymentEvent | undefined {
  const body = typeof event === 'string' ? event : JSON.stringify(event);
  return events.read(Buffer.from(body), header ?? `t=${NOW},v1=${hmac(body, NOW)}`, now);
}

describe('A signature', () => {
  const event = eventAbout(intent);
  const body = JSON.stringify(event);

  it.each([0, 1, 300])('is good %d s after it was made, and as long before [W-4]', (seconds) => {
    for (const way of [1, -1])
      expect(read(event, (NOW + way * seconds) * 1_000)).toMatchObject({ id: event['id'] });
  });

  it.each([301, 86_400])('is none %d s after it was made, nor as long before [W-4]', (seconds) => {
    for (const way of [1, -1])
      expect(() => read(event, (NOW + way * seconds) * 1_000)).toThrow(SignatureInvalid);
  });

  it('that is made with the secret that is being replaced is as good [W-2]', () => {
    expect(read(event, NOW * 1_000, `t=${NOW},v1=${hmac(body, NOW, OLD_SECRET)}`)).toBeDefined();
    const both = `t=${NOW},v1=${hmac(body, NOW, 'whsec_of_another')},v1=${hmac(body, NOW, OLD_SECRET)}`;
    expect(read(event, NOW * 1_000, both)).toBeDefined();
  });

  it('is judged by the time that is signed, whatever other times stand beside it', () => {
    const old = NOW - 1_000;
    for (const header of [
      `t=${NOW},t=${old},v1=${hmac(body, old)}`,
      `t=${old},t=${NOW},v1=${hmac(body, old)}`,
      `t=${NOW},v1=${hmac(body, NOW)},t=${NOW + 301}`,
    ])
      expect(() => read(event, NOW * 1_000, header)).toThrow(SignatureInvalid);
  });

  it('proves nothing where no secret is configured, not even with an empty one', () => {
    const without = new StripeEvents(configAt('http://127.0.0.1:9', ''));
    expect(() => without.read(Buffer.from(body), `t=${NOW},v1=${hmac(body, NOW, '')}`, NOW * 1_000)).toThrow(
      SignatureInvalid,
    );
  });

  it.each([
    '',
    'null',
    '[]',
    '{}',
    '"event"',
    '{"id":"evt_1"}',
    '{"id":"evt_1","data":{}}',
    '{',
    nameless('\\u0000'),
    nameless(''),
    nameless('e'.repeat(256)),
  ])('under %j is under no event', (text) => expect(() => read(text)).toThrow(NotAnEvent));
});

describe('An event', () => {
  it('about a charge of ours says what its object says', () => {
    expect(read(eventOf('payment_intent.succeeded', intent, 'evt_1'))).toEqual({
      id: 'evt_1',
      type: 'payment_intent.succeeded',
      news: {
        about: 'charge',
        tenantId: 'acme',
        chargeId: 'ch_1',
        orderId: 'ord_1',
        providerId: 'pi_1',
        amount: 1700,
        currency: 'eur',
        outcome: { status: 'succeeded', providerId: 'pi_1' },
      },
    });
  });

  it.each([
    [{ status: 'processing' }, { status: 'processing' }],
    [{ status: 'canceled' }, { status: 'canceled' }],
    [
      { status: 'requires_action', next_action: { type: 'redirect_to_url', redirect_to_url: { url: 'x' } } },
      { status: 'requires_action', nextAction: { type: 'redirect_to_url', url: 'x' } },
    ],
    [
      { status: 'requires_payment_method', last_payment_error: { code: 'card_declined', message: 'No.' } },
      { status: 'declined', failure: { code: 'card_declined', message: 'No.' } },
    ],
    [{ amount_received: 1 }, { status: 'contradicted' }],
    [{ status: 'requires_capture' }, { status: 'contradicted' }],
  ])('counts by its state, not by its name: %j', (state, outcome) => {
    const told = read(eventOf('payment_intent.succeeded', { ...intent, ...state }));
    expect(told?.news.outcome).toMatchObject(outcome);
  });

  it('about a refund of ours says what its object says', () => {
    expect(read(eventOf('charge.refund.updated', refund, 'evt_1'))?.news).toEqual({
      about: 'refund',
      tenantId: 'acme',
      refundId: 're_ours',
      providerId: 're_1',
      paymentId: 'pi_1',
      amount: 1700,
      currency: 'eur',
      outcome: { status: 'succeeded', providerId: 're_1' },
    });
  });

  it.each([
    eventOf('payment_intent.created', intent),
    eventOf('customer.created', { object: 'customer' }),
    eventOf('payment_intent.succeeded', { ...intent, metadata: {} }),
    eventOf('payment_intent.succeeded', { ...intent, metadata: null }),
    eventOf('payment_intent.succeeded', { ...intent, metadata: { charge_id: 'ch_1' } }),
    eventOf('payment_intent.succeeded', { ...intent, metadata: { tenant_id: 'acme' } }),
    eventOf('payment_intent.succeeded', { ...intent, metadata: { tenant_id: '\0', charge_id: 'ch_1' } }),
    eventOf('payment_intent.processing', { ...intent, status: 'requires_confirmation' }),
    eventOf('refund.created', { ...refund, metadata: {} }),
  ])('of no concern to us is none: %j [W-12]', (event) => {
    expect(read(event)).toBeUndefined();
  });
});

/** All that an event has, but for an id that one can be stored under. */
function nameless(id: string): string {
  return `{"id":"${id}","type":"payment_intent.succeeded","data":{"object":{}}}`;
}
