import { randomUUID } from 'node:crypto';
import { saveSettled } from '../../src/charges/charge.store.js';
import { get, post } from '../support/checkout.js';
import { openEventShop, type EventShop } from '../support/event-shop.js';
import { call } from '../support/stripe-wire.js';
import { eventAbout, eventOf, intentOf, subscribe } from '../support/webhooks.js';

type Json = Record<string, unknown>;

let shop: EventShop;
beforeAll(async () => void (shop = await openEventShop()));
afterAll(() => shop.close());
afterEach(() => shop.clean());

describe('An event about a charge in doubt', () => {
  it('finishes its key, once, with the reply that the lost answer would have had [Q-6, W-7]', async () => {
    const key = randomUUID();
    const chargeId = await shop.inDoubt(key);
    const { order_id: orderId } = await shop.chargeRow(chargeId);
    const calls = (await shop.chargesOf(orderId))[0]!.calls;
    const event = eventAbout(await intentOf(shop.provider, chargeId));
    expect([await shop.told(event), await shop.told(event)]).toEqual([204, 204]);
    expect(await shop.consume()).toMatchObject({ claimed: 1, applied: 1 });

    const answer = await shop.checkout(key);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(answer.headers.get('location')).toBe(`/v1/orders/${orderId}`);
    expect(answer.body).toMatchObject({
      order: { id: orderId, status: 'paid' },
      charge: { id: chargeId, status: 'succeeded' },
    });
    await shop.expectPaidOnce(orderId);
    expect((await shop.chargesOf(orderId))[0]!.calls).toBe(calls);
    expect(await shop.reviews()).toEqual([]);
  });

  it('that was declined finishes its key with the decline, which is replayed', async () => {
    const key = randomUUID();
    const chargeId = await shop.inDoubt(key, { paymentMethod: 'pm_card_chargeDeclined' });
    await shop.told(eventAbout(await intentOf(shop.provider, chargeId)));
    await shop.consume();
    const answer = await shop.checkout(key, { paymentMethod: 'pm_card_chargeDeclined' });
    expect([answer.status, answer.body.code]).toEqual([402, 'card_declined']);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(await shop.chargeRow(chargeId)).toMatchObject({ status: 'declined' });
  });

  it('leaves a key that somebody holds alone, and comes back to it', async () => {
    await subscribe(shop.provider, shop.api.url);
    await shop.provider.fault('delay', { times: 1, delayMs: 1_000 });
    const key = randomUUID();
    const slow = shop.checkout(key);
    while ((await shop.inbox()).length === 0); // the provider told before it answered
    const before = await shop.db.sql('SELECT version, attempts FROM idempotency_keys WHERE key = $1', [key]);
    expect(await shop.consume()).toMatchObject({ claimed: 1, putBack: 1, applied: 0 });
    expect(await shop.inbox()).toMatchObject([{ attempts: 0, last_error: 'its key is held' }]);
    expect(await shop.db.sql('SELECT version, attempts FROM idempotency_keys WHERE key = $1', [key])).toEqual(
      before,
    );

    const answer = await slow;
    expect(answer.status).toBe(201);
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    await shop.expectPaidOnce(answer.body.order.id);
    await subscribe(shop.provider, 'http://127.0.0.1:9');
  });

  it('takes over where the lease is over; the owner that wakes changes nothing, and sends what is stored', async () => {
    await shop.provider.fault('delay', { times: 1, delayMs: 1_500 });
    const key = randomUUID();
    const slow = shop.checkout(key);
    const pending = async () => (await get(`${shop.api.url}/v1/idempotency-keys?key=${key}`)).body.charge?.id;
    while (!(await pending()));
    const chargeId = await pending();
    while (
      (await shop.provider.ledger()).charges.every(({ metadata }) => metadata['charge_id'] !== chargeId)
    );
    await shop.db.sql("UPDATE idempotency_keys SET locked_until = now() - interval '1 s' WHERE key = $1", [
      key,
    ]);
    await shop.told(eventAbout(await intentOf(shop.provider, chargeId)));
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    const finished = await shop.db.sql('SELECT * FROM idempotency_keys WHERE key = $1', [key]);

    const answer = await slow;
    expect(answer.status).toBe(201);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(await shop.db.sql('SELECT * FROM idempotency_keys WHERE key = $1', [key])).toEqual(finished);
    await shop.expectPaidOnce(answer.body.order.id);
  });

  it('races with the owner, and whoever wins, the order is paid once', async () => {
    await subscribe(shop.provider, shop.api.url);
    let racing = true;
    const consuming = (async () => {
      while (racing) await shop.consume();
    })();
    const answers = await Promise.all(Array.from({ length: 20 }, () => shop.checkout()));
    while ((await shop.db.sql('SELECT 1 FROM inbox_messages WHERE applied_at IS NOT NULL')).length < 20);
    racing = false;
    await consuming;
    await subscribe(shop.provider, 'http://127.0.0.1:9');
    for (const answer of answers) {
      expect(answer.status).toBe(201);
      await shop.expectPaidOnce(answer.body.order.id);
    }
    expect(await shop.reviews()).toEqual([]);
  }, 30_000);

  it('whose key a person is to decide about leaves it to the person, and is looked at again afterwards', async () => {
    const key = randomUUID();
    const chargeId = await shop.inDoubt(key);
    const status = (ofKey: string, ofCharge: string) =>
      shop.db.sql(
        `WITH key AS (UPDATE idempotency_keys SET status = $2, locked_until = NULL WHERE key = $1)
         UPDATE charges SET status = $3 WHERE idempotency_key = $1`,
        [key, ofKey, ofCharge],
      );
    await status('review', 'review');
    await shop.told(eventAbout(await intentOf(shop.provider, chargeId)));
    expect(await shop.consume()).toMatchObject({ putBack: 1 });
    expect(await shop.chargeRow(chargeId)).toMatchObject({ status: 'review' });
    expect((await shop.checkout(key)).body.code).toBe('idempotency_key_under_review');
    await status('in_progress', 'rejected'); // they decided that nothing was charged
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    expect(await shop.reviews()).toMatchObject([{ subject_id: chargeId, reason: 'charged_after_all' }]);
  });
});

describe('Events out of order', () => {
  const states = {
    requires_action: { status: 'requires_action' },
    processing: { status: 'processing', next_action: null },
    succeeded: { status: 'succeeded', amount_received: 1700, next_action: null },
    canceled: { status: 'canceled', next_action: null },
    failed: {
      status: 'requires_payment_method',
      next_action: null,
      last_payment_error: { type: 'card_error', code: 'card_declined', message: 'No.' },
    },
  };
  type State = keyof typeof states;

  it.each<[string, ...State[]]>([
    ['succeeded', 'requires_action', 'processing', 'succeeded'],
    ['succeeded', 'requires_action', 'succeeded', 'processing'],
    ['succeeded', 'processing', 'requires_action', 'succeeded'],
    ['succeeded', 'processing', 'succeeded', 'requires_action'],
    ['succeeded', 'succeeded', 'requires_action', 'processing'],
    ['succeeded', 'succeeded', 'processing', 'requires_action'],
    ['succeeded', 'succeeded', 'failed', 'succeeded'],
    ['declined', 'failed', 'processing', 'requires_action'],
    ['declined', 'processing', 'failed', 'processing'],
    ['canceled', 'canceled', 'requires_action', 'processing', 'failed'],
  ])('end in %s: %s, %s, %s [W-9, ST-7]', async (end, ...order) => {
    const { body } = await shop.checkout(randomUUID(), { paymentMethod: 'pm_card_authenticationRequired' });
    const intent = await intentOf(shop.provider, body.charge.id);
    for (const state of order) {
      expect(await shop.told(eventAbout(intent, states[state]))).toBe(204);
      expect(await shop.consume()).toMatchObject({ applied: 1 });
    }
    expect(await shop.chargeRow(body.charge.id)).toMatchObject({ status: end });
    if (end === 'succeeded') await shop.expectPaidOnce(body.order.id);
    else
      expect(await shop.db.sql('SELECT status FROM orders WHERE id = $1', [body.order.id])).toEqual([
        { status: 'pending' },
      ]);
    expect(await shop.reviews()).toEqual([]);
  });

  it('could not move a charge back either: the database asks what it was [ST-7]', async () => {
    const { body } = await shop.checkout();
    const stepBack = shop.db.database.transaction(async (tx) =>
      saveSettled(tx, 'acme', { ...body.charge, status: 'canceled' }, ['requires_action', 'processing']),
    );
    await expect(stepBack).rejects.toThrow('charge_settle did not change the one row that it had to');
    await shop.expectPaidOnce(body.order.id);
  });

  it('about a refund end in the right state as well [W-9]', async () => {
    const { id, pending, arrive } = await refunded();
    await shop.told(eventOf('refund.updated', await arrive()));
    await shop.consume();
    await shop.told(eventOf('refund.created', pending));
    await shop.consume();
    expect(await refundStatus(id)).toBe('succeeded');
    const entries = await shop.db.sql('SELECT kind FROM ledger_entries WHERE subject = $1', [id]);
    expect(entries).toEqual([{ kind: 'refund' }]);
  });
});

/** A refund that is pending at the provider, there and here. */
async function refunded(): Promise<{ id: string; pending: Json; arrive: () => Promise<Json> }> {
  const { body: paid } = await shop.checkout(randomUUID(), { paymentMethod: 'pm_card_pendingRefund' });
  const answer = await post(`${shop.api.url}/v1/charges/${paid.charge.id}/refunds`, {});
  expect([answer.status, answer.body.status]).toEqual([201, 'pending']);
  const { refunds } = await shop.provider.ledger();
  const { id } = refunds.find(({ metadata }) => metadata['refund_id'] === answer.body.id)!;
  const read = async () => (await call(`${shop.provider.url}/v1/refunds/${id}`)).body;
  const arrive = async () => {
    await fetch(`${shop.provider.url}/_settle/${id}`, { method: 'POST' });
    return read();
  };
  return { id: answer.body.id, pending: await read(), arrive };
}

const refundStatus = async (id: string) =>
  (await shop.db.sql('SELECT status FROM refunds WHERE id = $1', [id]))[0]!['status'];

describe('An event that disagrees with our record', () => {
  let charge: Json;
  let intent: Json;
  let key: string;
  beforeEach(async () => {
    key = randomUUID();
    const { body } = await shop.checkout(key, { paymentMethod: 'pm_card_authenticationRequired' });
    charge = body.charge as Json;
    intent = await intentOf(shop.provider, body.charge.id);
  });
  const paid = { status: 'succeeded', next_action: null, amount_received: 1700 };

  it.each([
    ['amount', { ...paid, amount: 1, amount_received: 1 }],
    ['amount_received', { ...paid, amount_received: 1 }],
    ['currency', { ...paid, currency: 'usd' }],
    ['payment', { ...paid, id: 'pi_another' }],
  ])('in the %s opens a review, and is not applied [W-13]', async (differs, changes) => {
    await shop.told(eventAbout(intent, changes));
    const before = await shop.books();
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    expect(await shop.books()).toEqual(before);
    expect(await shop.reviews()).toMatchObject([
      {
        subject_kind: 'charge',
        subject_id: charge['id'],
        reason: 'provider_contradicts',
        evidence: { differs: expect.stringContaining(differs), provider: { chargeId: charge['id'] } },
      },
    ]);
  });

  it('in the order opens a review, and is not applied [W-13]', async () => {
    const metadata = { ...(intent['metadata'] as Json), order_id: 'ord_another' };
    await shop.told(eventAbout(intent, { ...paid, metadata }));
    await shop.consume();
    expect(await shop.reviews()).toMatchObject([{ reason: 'provider_contradicts' }]);
    expect(await shop.chargeRow(charge['id'] as string)).toMatchObject({ status: 'requires_action' });
  });

  it('while its key is in doubt is not what the key hears [W-13]', async () => {
    const doubted = randomUUID();
    const chargeId = await shop.inDoubt(doubted);
    await shop.told(eventAbout(await intentOf(shop.provider, chargeId), { amount: 1, amount_received: 1 }));
    await shop.consume();
    expect(await shop.chargeRow(chargeId)).toMatchObject({ status: 'unknown' });
    expect(await shop.reviews()).toMatchObject([{ subject_id: chargeId, reason: 'provider_contradicts' }]);
    expect((await shop.checkout(doubted)).status).toBe(201); // the provider itself says otherwise
  });

  it.each([
    ['charge', 'payment_intent.succeeded', { charge_id: 'ch_01kbn9sg6de5pv2m8w4f3tqz7x' }],
    ['charge', 'payment_intent.succeeded', { charge_id: '\0' }],
    ['refund', 'refund.updated', { refund_id: 're_01kbn9sg6de5pv2m8w4f3tqz7x' }],
  ])('on a %s that we do not have opens a review [W-13]', async (what, type, ids) => {
    const object = { ...intent, ...paid, metadata: { tenant_id: 'acme', ...ids } };
    const event = eventOf(type, object);
    expect(await shop.told(event)).toBe(204);
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    expect(await shop.reviews()).toMatchObject([
      { subject_kind: 'event', subject_id: event['id'], reason: `${what}_unknown` },
    ]);
  });

  it.each(['declined', 'canceled', 'rejected'])(
    'by money for a charge that is %s opens a review: the order is not paid by it, as it may be paid twice [W-13]',
    async (status) => {
      await shop.db.sql('UPDATE charges SET status = $2, next_action = NULL WHERE id = $1', [
        charge['id'],
        status,
      ]);
      await shop.told(eventAbout(intent, paid));
      await shop.consume();
      expect(await shop.chargeRow(String(charge['id']))).toMatchObject({ status, owed_back: true });
      expect(await shop.reviews()).toMatchObject([
        { subject_id: charge['id'], reason: 'charged_after_all', evidence: { ours: { status } } },
      ]);
    },
  );

  it.each([
    ['amount', { amount: 1 }],
    ['currency', { currency: 'usd' }],
    ['payment', { payment_intent: 'pi_another' }],
    ['refund', { id: 're_another' }],
  ])('on the %s of a refund opens a review, and is not applied [W-13]', async (differs, changes) => {
    const { id, arrive } = await refunded();
    await shop.told(eventOf('refund.updated', { ...(await arrive()), ...changes }));
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    expect(await refundStatus(id)).toBe('pending');
    expect(await shop.reviews()).toMatchObject([
      {
        subject_kind: 'refund',
        subject_id: id,
        reason: 'provider_contradicts',
        evidence: { differs: `differs in ${differs}` },
      },
    ]);
  });

  it('by a refund that was made although we said that it was not opens a review [W-13]', async () => {
    const { id, arrive } = await refunded();
    await shop.db.sql("UPDATE refunds SET status = 'failed', provider_id = NULL WHERE id = $1", [id]);
    await shop.told(eventOf('refund.updated', await arrive()));
    await shop.consume();
    expect(await refundStatus(id)).toBe('failed');
    expect(await shop.reviews()).toMatchObject([{ subject_id: id, reason: 'refunded_after_all' }]);
  });

  it('adds what else is told to a question that is open', async () => {
    const another = (id: string) => shop.told(eventAbout(intent, { ...paid, id }));
    await shop.told(eventAbout(intent, paid));
    await shop.consume();
    for (const id of ['pi_other', 'pi_third']) {
      await another(id);
      await shop.consume();
    }
    const [review, ...more] = await shop.reviews();
    expect(more).toEqual([]);
    expect(review).toMatchObject({
      evidence: { provider: { providerId: 'pi_other' }, later: [{ provider: { providerId: 'pi_third' } }] },
    });
  });

  it('is asked about once, however often it comes', async () => {
    for (let times = 0; times < 3; times++) {
      await shop.told(eventAbout(intent, { ...paid, amount: 1, amount_received: 1 }));
      await shop.consume();
    }
    expect(await shop.reviews()).toHaveLength(1);
  });
});
