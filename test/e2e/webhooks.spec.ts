import { randomUUID } from 'node:crypto';
import { checkoutBody, get, orderBody, post, type Answer } from '../support/checkout.js';
import { EventParts } from '../support/event-parts.module.js';
import { holdLock } from '../support/locks.js';
import { openShop, type Shop } from '../support/shop.js';
import { spawnApi } from '../support/start-api.js';
import {
  deliver,
  eventAbout,
  eventOf,
  hmac,
  intentOf,
  OLD_SECRET,
  secondsNow,
  SECRET,
  signature,
  STRIPE_WEBHOOK_SECRETS,
  subscribe,
  tell,
} from '../support/webhooks.js';
import { InboxConsumer, type InboxCounts } from '../../src/inbox/inbox-consumer.js';
import { InboxStore } from '../../src/inbox/inbox.store.js';

type Json = Record<string, unknown>;

let shop: Shop;
beforeAll(async () => {
  shop = await openShop({ ROLE: 'api', STRIPE_WEBHOOK_SECRETS }, [EventParts]);
});
afterAll(() => shop.close());
afterEach(async () => {
  await shop.provider.clearFaults();
  await shop.db.sql('DELETE FROM inbox_messages');
  await shop.db.sql('DELETE FROM reviews');
});

const checkout = (key: string = randomUUID(), changes: Json = {}) =>
  post(`${shop.api.url}/v1/checkouts`, checkoutBody(changes), { key });
const told = (event: Json) => tell(shop.api.url, event);
const inbox = () => shop.db.sql('SELECT * FROM inbox_messages ORDER BY received_at');
const reviews = () => shop.db.sql('SELECT subject_kind, subject_id, reason, evidence FROM reviews');
const chargeRow = async (id: string) =>
  (await shop.db.sql<{ status: string; order_id: string }>('SELECT * FROM charges WHERE id = $1', [id]))[0]!;

/** One round; time moves by back-dating. */
async function consume(): Promise<InboxCounts> {
  await shop.db.sql("UPDATE inbox_messages SET due_at = now() - interval '1 s' WHERE applied_at IS NULL");
  return shop.api.app.get(InboxConsumer, { strict: false }).runOnce();
}

/** A checkout that was charged, and whose answer never came: not even a look-up told what had become of it. */
async function inDoubt(key: string, changes: Json = {}): Promise<string> {
  await shop.provider.fault('drop_after', { times: 2 });
  await shop.provider.fault('search_down', { times: 1 });
  const answer = await checkout(key, changes);
  expect([answer.status, answer.body.code]).toEqual([503, 'outcome_unknown']);
  const state = await get(`${shop.api.url}/v1/idempotency-keys?key=${key}`);
  expect(state.body.charge.status).toBe('unknown');
  return state.body.charge.id;
}

/** Paid once, wherever one looks. */
async function expectPaidOnce(orderId: string): Promise<void> {
  const [counts] = await shop.db.sql(
    `SELECT (SELECT status FROM orders WHERE id = $1) AS "order",
            (SELECT version FROM orders WHERE id = $1) AS version,
            (SELECT array_agg(status) FROM charges WHERE order_id = $1) AS charges,
            (SELECT count(*)::int FROM ledger_entries WHERE subject = $1) AS ledger,
            (SELECT count(*)::int FROM outbox_messages WHERE ordering_key = $1) AS receipts`,
    [orderId],
  );
  expect(counts).toEqual({ order: 'paid', version: 2, charges: ['succeeded'], ledger: 1, receipts: 1 });
  expect(await shop.chargesOf(orderId)).toHaveLength(1);
}

/** Everything that money depends on, to see that it stays as it is. */
async function books(): Promise<unknown> {
  const tables = ['orders', 'charges', 'refunds', 'ledger_entries', 'outbox_messages', 'idempotency_keys'];
  return Promise.all(tables.map((table) => shop.db.sql(`SELECT * FROM ${table} ORDER BY 1, 2`)));
}

describe('A webhook', () => {
  const event = eventAbout({ status: 'succeeded', metadata: { tenant_id: 'acme', charge_id: 'ch_nobody' } });
  const body = JSON.stringify(event);
  const time = secondsNow();

  it('is signed by HMAC-SHA256 of its time and bytes, needs no API key and no Idempotency-Key [W-1, W-14]', async () => {
    const header = `t=${time},v1=${hmac(body, time)}`;
    expect(await deliver(shop.api.url, body, header)).toEqual({ status: 204, code: undefined });
    expect(await inbox()).toMatchObject([{ tenant_id: 'acme', source: 'stripe', id: event['id'] }]);
  });

  it.each([
    ['by the secret that is being replaced', `t=${time},v1=${hmac(body, time, OLD_SECRET)}`],
    ['by both', `t=${time},v1=${hmac(body, time, OLD_SECRET)},v1=${hmac(body, time)}`],
    ['among signatures of others', `t=${time},v1=${'0'.repeat(64)},v1=${hmac(body, time)},v1=x`],
    ['beside other schemes', `t=${time},v0=${hmac(body, time)},v9=x,v1=${hmac(body, time)}`],
  ])('may be signed %s [W-2, F-62]', async (_how, header) => {
    expect((await deliver(shop.api.url, body, header)).status).toBe(204);
  });

  const good = hmac(body, time);
  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['no time', `v1=${good}`],
    ['no signature', `t=${time}`],
    ['a time that is none', `t=soon,v1=${good}`],
    ['another time', `t=${time - 1},v1=${good}`],
    ['no structure', good],
    ['only another scheme', `t=${time},v0=${good}`],
    ['another secret', `t=${time},v1=${hmac(body, time, 'whsec_of_another')}`],
    ['the secret without its prefix', `t=${time},v1=${hmac(body, time, SECRET.slice(6))}`],
    ['upper-case digits', `t=${time},v1=${good.toUpperCase()}`],
    ['a shorter signature', `t=${time},v1=${good.slice(1)}`],
    ['an empty signature', `t=${time},v1=`],
    ['a longer signature', `t=${time},v1=${good}0`],
    ['a signature of other bytes than text', `t=${time},v1=${'é'.repeat(32)}`],
    ['a time long past', signature(body, { time: time - 310 })],
    ['a time to come', signature(body, { time: time + 310 })],
  ])('with %s is refused, and leaves no trace [W-4, W-5, W-6, F-62]', async (_what, header) => {
    const answer = await deliver(shop.api.url, body, header && encodeURI(header));
    expect(answer).toEqual({ status: 400, code: 'webhook_signature_invalid' });
    expect(await inbox()).toEqual([]);
  });

  it.each([
    ['written anew', JSON.stringify(JSON.parse(body), null, 1)],
    ['with a byte more', `${body}\n`],
    ['of another event', body.replace('evt_', 'evt_x')],
    ['left out', ''],
  ])('whose body is %s is refused: the bytes are what is signed [W-3]', async (_what, other) => {
    expect(await deliver(shop.api.url, other, `t=${time},v1=${good}`)).toEqual({
      status: 400,
      code: 'webhook_signature_invalid',
    });
    expect(await inbox()).toEqual([]);
  });

  it('is signed over bytes that JSON would write otherwise [W-3]', async () => {
    const spaced = `{ "data" : ${JSON.stringify(event['data'])},\n "id":"evt_spaced", "type":"payment_intent.succeeded", "text":"\\u00e9é" }`;
    expect((await deliver(shop.api.url, spaced, signature(spaced))).status).toBe(204);
    expect(await inbox()).toHaveLength(1);
  });

  it.each([
    ['of an unknown type', eventOf('payment_intent.dreamt', { id: 'pi_1' })],
    ['about an object without our metadata', eventAbout({ status: 'succeeded', metadata: {} })],
    [
      'about an object of a tenant that we do not have',
      eventAbout({ status: 'succeeded', metadata: { tenant_id: 'nobody', charge_id: 'ch_1' } }),
    ],
  ])('%s gets 2xx, and nothing is stored [W-12, F-63]', async (_what, about) => {
    expect(await told(about)).toBe(204);
    expect(await inbox()).toEqual([]);
  });

  it('is answered before it takes effect, whatever holds that up [W-10]', async () => {
    const { body: paid } = await checkout();
    const release = await holdLock(shop.db, 'orders, charges');
    expect(await told(eventAbout(await intentOf(shop.provider, paid.charge.id)))).toBe(204);
    expect(await inbox()).toMatchObject([{ applied_at: null, attempts: 0 }]);
    await release();
    expect(await consume()).toMatchObject({ applied: 1 });
  });
});

describe('An event about a charge in doubt', () => {
  it('finishes its key, once, with the reply that the lost answer would have had [Q-6, W-7, F-61]', async () => {
    const key = randomUUID();
    const chargeId = await inDoubt(key);
    const { order_id: orderId } = await chargeRow(chargeId);
    const calls = (await shop.chargesOf(orderId))[0]!.calls;
    const event = eventAbout(await intentOf(shop.provider, chargeId));
    expect([await told(event), await told(event)]).toEqual([204, 204]);
    expect(await consume()).toMatchObject({ claimed: 1, applied: 1 });

    const answer = await checkout(key);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(answer.headers.get('location')).toBe(`/v1/orders/${orderId}`);
    expect(answer.body).toMatchObject({
      order: { id: orderId, status: 'paid' },
      charge: { id: chargeId, status: 'succeeded' },
    });
    await expectPaidOnce(orderId);
    expect((await shop.chargesOf(orderId))[0]!.calls).toBe(calls);
    expect(await reviews()).toEqual([]);
  });

  it('that was declined finishes its key with the decline, which is replayed', async () => {
    const key = randomUUID();
    const chargeId = await inDoubt(key, { paymentMethod: 'pm_card_chargeDeclined' });
    await told(eventAbout(await intentOf(shop.provider, chargeId)));
    await consume();
    const answer = await checkout(key, { paymentMethod: 'pm_card_chargeDeclined' });
    expect([answer.status, answer.body.code]).toEqual([402, 'card_declined']);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(await chargeRow(chargeId)).toMatchObject({ status: 'declined' });
  });

  it('leaves a key that somebody holds alone, and comes back to it [F-60, F-61]', async () => {
    await subscribe(shop.provider, shop.api.url);
    await shop.provider.fault('delay', { times: 1, delayMs: 1_000 });
    const key = randomUUID();
    const slow = checkout(key);
    while ((await inbox()).length === 0); // the provider told before it answered
    const before = await shop.db.sql('SELECT version, attempts FROM idempotency_keys WHERE key = $1', [key]);
    expect(await consume()).toMatchObject({ claimed: 1, putBack: 1, applied: 0 });
    expect(await inbox()).toMatchObject([{ attempts: 0, last_error: 'its key is held' }]);
    expect(await shop.db.sql('SELECT version, attempts FROM idempotency_keys WHERE key = $1', [key])).toEqual(
      before,
    );

    const answer = await slow;
    expect(answer.status).toBe(201);
    expect(await consume()).toMatchObject({ applied: 1 });
    await expectPaidOnce(answer.body.order.id);
    await subscribe(shop.provider, 'http://127.0.0.1:9');
  });

  it('takes over where the lease is over; the owner that wakes changes nothing, and sends what is stored [F-60]', async () => {
    await shop.provider.fault('delay', { times: 1, delayMs: 1_500 });
    const key = randomUUID();
    const slow = checkout(key);
    const pending = async () => (await get(`${shop.api.url}/v1/idempotency-keys?key=${key}`)).body.charge?.id;
    while (!(await pending()));
    const chargeId = await pending();
    while (
      (await shop.provider.ledger()).charges.every(({ metadata }) => metadata['charge_id'] !== chargeId)
    );
    await shop.db.sql("UPDATE idempotency_keys SET locked_until = now() - interval '1 s' WHERE key = $1", [
      key,
    ]);
    await told(eventAbout(await intentOf(shop.provider, chargeId)));
    expect(await consume()).toMatchObject({ applied: 1 });
    const finished = await shop.db.sql('SELECT * FROM idempotency_keys WHERE key = $1', [key]);

    const answer = await slow;
    expect(answer.status).toBe(201);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(await shop.db.sql('SELECT * FROM idempotency_keys WHERE key = $1', [key])).toEqual(finished);
    await expectPaidOnce(answer.body.order.id);
  });

  it('races with the owner, and whoever wins, the order is paid once [F-60, F-61]', async () => {
    await subscribe(shop.provider, shop.api.url);
    let racing = true;
    const consuming = (async () => {
      while (racing) await consume();
    })();
    const answers = await Promise.all(Array.from({ length: 20 }, () => checkout()));
    while ((await shop.db.sql('SELECT 1 FROM inbox_messages WHERE applied_at IS NOT NULL')).length < 20);
    racing = false;
    await consuming;
    await subscribe(shop.provider, 'http://127.0.0.1:9');
    for (const answer of answers) {
      expect(answer.status).toBe(201);
      await expectPaidOnce(answer.body.order.id);
    }
    expect(await reviews()).toEqual([]);
  }, 30_000);

  it('whose key a person is to decide about leaves it to the person', async () => {
    const key = randomUUID();
    const chargeId = await inDoubt(key);
    await shop.db.sql("UPDATE idempotency_keys SET status = 'review', locked_until = NULL WHERE key = $1", [
      key,
    ]);
    await shop.db.sql("UPDATE charges SET status = 'review' WHERE id = $1", [chargeId]);
    await told(eventAbout(await intentOf(shop.provider, chargeId)));
    expect(await consume()).toMatchObject({ applied: 1 });
    expect(await chargeRow(chargeId)).toMatchObject({ status: 'review' });
    expect((await checkout(key)).body.code).toBe('idempotency_key_under_review');
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
  ])('end in %s: %s, %s, %s [W-9, ST-7, F-60]', async (end, ...order) => {
    const { body } = await checkout(randomUUID(), { paymentMethod: 'pm_card_authenticationRequired' });
    const intent = await intentOf(shop.provider, body.charge.id);
    for (const state of order) {
      expect(await told(eventAbout(intent, states[state]))).toBe(204);
      expect(await consume()).toMatchObject({ applied: 1 });
    }
    expect(await chargeRow(body.charge.id)).toMatchObject({ status: end });
    if (end === 'succeeded') await expectPaidOnce(body.order.id);
    else
      expect(await shop.db.sql('SELECT status FROM orders WHERE id = $1', [body.order.id])).toEqual([
        { status: 'pending' },
      ]);
    expect(await reviews()).toEqual([]);
  });

  it('about a refund end in the right state as well [W-9]', async () => {
    const { body: paid } = await checkout(randomUUID(), { paymentMethod: 'pm_card_pendingRefund' });
    const answer = await post(`${shop.api.url}/v1/charges/${paid.charge.id}/refunds`, {});
    expect([answer.status, answer.body.status]).toEqual([201, 'pending']);
    const { refunds } = await shop.provider.ledger();
    const { id } = refunds.find(({ metadata }) => metadata['refund_id'] === answer.body.id)!;
    const read = async () =>
      (await (
        await fetch(`${shop.provider.url}/v1/refunds/${id}`, {
          headers: { Authorization: 'Bearer sk_test_1' },
        })
      ).json()) as Json;
    const pending = await read();
    await fetch(`${shop.provider.url}/_settle/${id}`, { method: 'POST' });
    await told(eventOf('refund.updated', await read()));
    await consume();
    await told(eventOf('refund.created', pending));
    await consume();
    expect(await shop.db.sql('SELECT status FROM refunds WHERE id = $1', [answer.body.id])).toEqual([
      { status: 'succeeded' },
    ]);
    expect(await shop.db.sql('SELECT kind FROM ledger_entries WHERE subject = $1', [answer.body.id])).toEqual(
      [{ kind: 'refund' }],
    );
  });
});

describe('An event that disagrees with our record', () => {
  let charge: Json;
  let intent: Json;
  let key: string;
  beforeEach(async () => {
    key = randomUUID();
    const { body } = await checkout(key, { paymentMethod: 'pm_card_authenticationRequired' });
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
    await told(eventAbout(intent, changes));
    const before = await books();
    expect(await consume()).toMatchObject({ applied: 1 });
    expect(await books()).toEqual(before);
    expect(await reviews()).toMatchObject([
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
    await told(eventAbout(intent, { ...paid, metadata }));
    await consume();
    expect(await reviews()).toMatchObject([{ reason: 'provider_contradicts' }]);
    expect(await chargeRow(charge['id'] as string)).toMatchObject({ status: 'requires_action' });
  });

  it('while its key is in doubt is not what the key hears [W-13]', async () => {
    const doubted = randomUUID();
    const chargeId = await inDoubt(doubted);
    await told(eventAbout(await intentOf(shop.provider, chargeId), { amount: 1, amount_received: 1 }));
    await consume();
    expect(await chargeRow(chargeId)).toMatchObject({ status: 'unknown' });
    expect(await reviews()).toMatchObject([{ subject_id: chargeId, reason: 'provider_contradicts' }]);
    expect((await checkout(doubted)).status).toBe(201); // the provider itself says otherwise
  });

  it.each([
    ['charge', 'payment_intent.succeeded', { charge_id: 'ch_01kbn9sg6de5pv2m8w4f3tqz7x' }],
    ['charge', 'payment_intent.succeeded', { charge_id: '\0' }],
    ['refund', 'refund.updated', { refund_id: 're_01kbn9sg6de5pv2m8w4f3tqz7x' }],
  ])('on a %s that we do not have opens a review [W-13, F-63]', async (what, type, ids) => {
    const object = { ...intent, ...paid, metadata: { tenant_id: 'acme', ...ids } };
    const event = eventOf(type, object);
    expect(await told(event)).toBe(204);
    expect(await consume()).toMatchObject({ applied: 1 });
    expect(await reviews()).toMatchObject([
      { subject_kind: 'event', subject_id: event['id'], reason: `${what}_unknown` },
    ]);
  });

  it.each(['declined', 'canceled', 'rejected'])(
    'by money for a charge that is %s opens a review: nobody is paid for an order that may be paid twice [W-13]',
    async (status) => {
      await shop.db.sql('UPDATE charges SET status = $2, next_action = NULL WHERE id = $1', [
        charge['id'],
        status,
      ]);
      await told(eventAbout(intent, paid));
      const before = await books();
      await consume();
      expect(await books()).toEqual(before);
      expect(await reviews()).toMatchObject([
        { subject_id: charge['id'], reason: 'charged_after_all', evidence: { ours: { status } } },
      ]);
    },
  );

  it('is asked about once, however often it comes', async () => {
    for (let times = 0; times < 3; times++) {
      await told(eventAbout(intent, { ...paid, amount: 1, amount_received: 1 }));
      await consume();
    }
    expect(await reviews()).toHaveLength(1);
  });
});

describe('A stored event', () => {
  const due = async (): Promise<{ answer: Answer; event: Json }> => {
    const answer = await checkout(randomUUID(), { paymentMethod: 'pm_card_authenticationRequired' });
    const intent = await intentOf(shop.provider, answer.body.charge.id);
    return {
      answer,
      event: eventAbout(intent, { status: 'succeeded', amount_received: 1700, next_action: null }),
    };
  };

  it('is taken once, however often it is sent and by however many consumers [W-7, F-60]', async () => {
    const { answer, event } = await due();
    expect(await Promise.all([told(event), told(event), told(event)])).toEqual([204, 204, 204]);
    expect(await inbox()).toHaveLength(1);
    await Promise.all([consume(), consume(), consume()]);
    expect(await told(event)).toBe(204);
    expect(await consume()).toMatchObject({ claimed: 0 });
    await expectPaidOnce(answer.body.order.id);
  });

  it('takes effect once where the consumer died after its claim, and it is sent again [W-11]', async () => {
    const { answer, event } = await due();
    await told(event);
    expect(await new InboxStore(shop.db.database).claim('acme', 10, 60)).toHaveLength(1); // and it dies here
    expect(await shop.api.app.get(InboxConsumer, { strict: false }).runOnce()).toMatchObject({ claimed: 0 });
    expect(await told(event)).toBe(204);
    expect(await consume()).toMatchObject({ applied: 1 });
    await expectPaidOnce(answer.body.order.id);
  });

  it('takes effect once where the worker is killed between claim and effect [W-11]', async () => {
    const { answer, event } = await due();
    await told(event);
    const options = {
      databaseUrl: shop.db.url,
      providerUrl: shop.provider.url,
      WORKER_PORT: '0',
      ROLE: 'worker',
    };
    const release = await holdLock(shop.db, 'orders');
    const worker = await spawnApi(options);
    while ((await inbox())[0]!['attempts'] === 0);
    await worker.kill('SIGKILL');
    await release();
    expect(await inbox()).toMatchObject([{ applied_at: null, attempts: 1 }]);
    await shop.db.sql('UPDATE inbox_messages SET due_at = now()');
    const next = await spawnApi(options);
    while ((await inbox())[0]!['applied_at'] === null);
    await next.stop();
    await expectPaidOnce(answer.body.order.id);
  }, 30_000);

  it('that cannot be applied rests, and holds up no other', async () => {
    const { answer, event } = await due();
    await shop.db.sql(
      `INSERT INTO inbox_messages (tenant_id, source, id, payload) SELECT 'acme', 'stripe', 'evt_poison_' || n, '{"news": null}'
       FROM generate_series(1, 60) n`,
    );
    await told(event);
    expect(await consume()).toMatchObject({ claimed: 50 });
    expect(await consume()).toMatchObject({ claimed: 50 });
    await expectPaidOnce(answer.body.order.id);
    const [poison] = await shop.db.sql("SELECT * FROM inbox_messages WHERE id = 'evt_poison_1'");
    expect(poison).toMatchObject({ applied_at: null, last_error: 'TypeError' });
    expect(poison!['attempts']).toBeGreaterThan(0);
  });

  it('changes nothing when it comes again after its inbox row and its key are gone', async () => {
    const { answer, event } = await due();
    const key = answer.headers.get('idempotency-key');
    await told(event);
    await consume();
    await shop.db.sql('DELETE FROM inbox_messages');
    await shop.db.sql('DELETE FROM idempotency_keys WHERE key = $1', [key]);
    const before = await books();
    expect(await told(event)).toBe(204);
    expect(await consume()).toMatchObject({ applied: 1 });
    expect(await books()).toEqual(before);
    expect(await reviews()).toEqual([]);
    await expectPaidOnce(answer.body.order.id);
  });

  it('about an order of its own is not what another key of the same name hears', async () => {
    const key = randomUUID();
    const chargeId = await inDoubt(key);
    const { order_id: orderId } = await chargeRow(chargeId);
    await shop.db.sql('DELETE FROM idempotency_keys WHERE key = $1', [key]);
    await post(`${shop.api.url}/v1/orders`, orderBody(), { key }); // the client has forgotten, and uses the key again
    await told(eventAbout(await intentOf(shop.provider, chargeId)));
    expect(await consume()).toMatchObject({ putBack: 1 });
    expect(await shop.db.sql('SELECT status FROM orders WHERE id = $1', [orderId])).toEqual([
      { status: 'pending' },
    ]);
  });
});
