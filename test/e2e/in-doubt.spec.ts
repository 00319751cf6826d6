import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { checkoutBody, get, orderBody, post } from '../support/checkout.js';
import { openShop, type Shop } from '../support/shop.js';
import { startApi } from '../support/start-api.js';

let shop: Shop;
beforeAll(async () => void (shop = await openShop()));
afterAll(() => shop.close());

const orders = () => `${shop.api.url}/v1/orders`;

describe('An outcome that is in doubt', () => {
  const checkout = (key: string) => post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key });
  const chargeOf = async (key: string) =>
    (await get(`${shop.api.url}/v1/idempotency-keys?key=${key}`)).body.charge;
  afterEach(() => shop.provider.clearFaults());

  it('stays so when a later try is refused: nobody is told that nothing happened [E-4, E-5, P-7]', async () => {
    const key = randomUUID();
    await shop.provider.fault('drop_after', { times: 1 });
    await shop.provider.fault('rate_limit', { times: 1 });
    await shop.provider.fault('search_down', { times: 1 });
    const answer = await checkout(key);
    expect([answer.status, answer.body.code]).toEqual([503, 'outcome_unknown']);
    expect(await chargeOf(key)).toMatchObject({ status: 'unknown' });
    await shop.provider.fault('rate_limit', { times: 1 });
    await shop.provider.fault('search_down', { times: 1 });
    expect((await checkout(key)).body.code).toBe('outcome_unknown');
    const done = await checkout(key);
    expect(done.status).toBe(201);
    const { charges } = await shop.provider.ledger();
    expect(charges.filter(({ metadata }) => metadata['order_id'] === done.body.order.id)).toHaveLength(1);
  });

  it('is looked up and adopted at once after a second unknown, and after a 500 that is only replayed [E-4, P-8]', async () => {
    for (const [kind, times, calls] of [
      ['drop_after', 2, 2],
      ['error_after', 1, 2],
    ] as const) {
      await shop.provider.fault(kind, { times });
      const answer = await checkout(randomUUID());
      expect(answer.status).toBe(201);
      const { charges } = await shop.provider.ledger();
      const charge = charges.find(({ metadata }) => metadata['order_id'] === answer.body.order.id);
      expect(charge).toMatchObject({ status: 'succeeded', calls });
    }
  });

  it('is none where the provider was not reached or refused: it did nothing [E-5, P-7]', async () => {
    const key = randomUUID();
    await shop.provider.fault('rate_limit', { times: 1 });
    const answer = await checkout(key);
    expect([answer.status, answer.body.code]).toEqual([503, 'provider_unavailable']);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await chargeOf(key)).toMatchObject({ status: 'pending' });
    expect((await checkout(key)).status).toBe(201);
  });

  it('once the provider may have forgotten its key is looked up and never sent again', async () => {
    const key = randomUUID();
    await shop.provider.fault('drop_after', { times: 2 });
    await shop.provider.fault('search_down', { times: 1 });
    expect((await checkout(key)).status).toBe(503);
    await shop.db.sql("UPDATE idempotency_keys SET first_sent_at = now() - interval '25 h' WHERE key = $1", [
      key,
    ]);
    const adopted = await checkout(key);
    expect(adopted.status).toBe(201);
    const { charges } = await shop.provider.ledger();
    const charge = charges.find(({ metadata }) => metadata['order_id'] === adopted.body.order.id);
    expect(charge).toMatchObject({ calls: 2 });
  });

  it('is no case for a person while the look-up itself fails: 503, and looked up again [E-4]', async () => {
    const key = randomUUID();
    await shop.provider.fault('drop_after', { times: 2 });
    await shop.provider.fault('search_down', { times: 2 });
    expect((await checkout(key)).status).toBe(503);
    await shop.db.sql("UPDATE idempotency_keys SET first_sent_at = now() - interval '30 h' WHERE key = $1", [
      key,
    ]);
    expect((await checkout(key)).body.code).toBe('outcome_unknown');
    expect((await checkout(key)).status).toBe(201);
  });

  it('that nobody can settle any more goes to a person, and nothing is charged again', async () => {
    const key = randomUUID();
    await shop.provider.fault('drop_before', { times: 2 });
    await shop.provider.fault('search_down', { times: 1 });
    expect((await checkout(key)).status).toBe(503);
    await shop.db.sql("UPDATE idempotency_keys SET first_sent_at = now() - interval '25 h' WHERE key = $1", [
      key,
    ]);
    const held = await checkout(key);
    expect([held.status, held.body.code]).toEqual([409, 'idempotency_key_under_review']);
    expect(await chargeOf(key)).toMatchObject({ status: 'review' });
    const [review] = await shop.db.sql<{ reason: string; evidence: Record<string, unknown> }>(
      'SELECT r.reason, r.evidence FROM reviews r JOIN idempotency_keys k ON r.tenant_id = k.tenant_id AND r.subject_id = k.id WHERE k.key = $1',
      [key],
    );
    expect(review).toMatchObject({ reason: 'provider_window_over', evidence: { step: 'charge' } });
    expect((await checkout(key)).status).toBe(409);
  });
});

describe('A provider that asks us to stay away', () => {
  const checkout = (key: string) => post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key });
  const keyRow = async (key: string) =>
    (
      await shop.db.sql<{ id: string; due: number }>(
        'SELECT id, extract(epoch FROM next_run_at - now())::float8 AS due FROM idempotency_keys WHERE key = $1',
        [key],
      )
    )[0]!;
  const callsUnder = async (key: string) => {
    const { id } = await keyRow(key);
    const { charges } = await shop.provider.ledger();
    return charges.filter(({ idempotencyKey }) => idempotencyKey === `test:${id}:charge`);
  };
  afterEach(() => shop.provider.clearFaults());

  it.each([
    ['rate_limit', '7', '7', 'provider_unavailable'],
    ['down', '7', '7', 'outcome_unknown'],
    ['down', new Date(Date.now() + 3_600_000).toUTCString(), '60', 'outcome_unknown'],
    ['rate_limit', '1000000000', '60', 'provider_unavailable'],
  ])(
    'with %s and Retry-After %s is asked once; the client hears %s, and its key works afterwards [P-7]',
    async (kind, retryAfter, told, code) => {
      const key = randomUUID();
      await shop.provider.fault(kind, { times: 1, retryAfter });
      const answer = await checkout(key);
      expect([answer.status, answer.body.code]).toEqual([503, code]);
      expect(answer.headers.get('retry-after')).toBe(told);
      expect(await callsUnder(key)).toEqual([]); // a second call or a look-up would have found it well
      expect((await checkout(key)).status).toBe(201);
      expect(await callsUnder(key)).toMatchObject([{ status: 'succeeded', calls: 2 }]);
    },
  );

  it('is left alone by the completer as well, for an hour at most', async () => {
    const due = async (retryAfter: string) => {
      const key = randomUUID();
      await shop.provider.fault('rate_limit', { times: 1, retryAfter });
      await checkout(key);
      return Math.round((await keyRow(key)).due);
    };
    expect(await due('1')).toBe(300); // the grace of a client is longer
    expect(await due('900')).toBe(900);
    expect(await due('1000000000')).toBe(3_600);
  });
});

describe('A key from another build of the service', () => {
  it.each([
    ['fingerprint_scheme = 2', 'fingerprint_unknown'],
    [
      "status = 'in_progress', operation = 'create_order_v2', reply_status = NULL, expires_at = NULL",
      'recovery_point_unknown',
    ],
  ])('is neither refused for good nor run: 503 (%s)', async (change, code) => {
    const key = randomUUID();
    await post(orders(), orderBody(), { key });
    await shop.db.sql(`UPDATE idempotency_keys SET ${change} WHERE key = $1`, [key]);
    const answer = await post(orders(), orderBody(), { key });
    expect([answer.status, answer.body.code]).toEqual([503, code]);
    expect(answer.headers.get('retry-after')).toBe('1');
  });
});

describe('Ids that cannot be', () => {
  it.each([
    ['/v1/orders/%00', 404],
    ['/v1/charges/%00', 404],
    ['/v1/orders/ord_%F0%9F%98%80', 404],
    ['/v1/idempotency-keys?key=%00', 400],
    ['/v1/idempotency-keys', 400],
    ['/v1/orders?cursor=%00', 400],
    ['/v1/orders?limit=1e9', 400],
  ])('are refused without asking the database: %s', async (path, status) => {
    expect((await get(`${shop.api.url}${path}`)).status).toBe(status);
  });
});

describe('Sandbox-Fault', () => {
  it.each([
    'nonsense',
    'call.after:charge=explode',
    'toString:x=throw',
    'phase.after_commit:no_such_point=throw',
    'reply.before_send:x=throw',
    'call.before:charge=lose_commit_answer',
  ])('that would never fire is refused: %s', async (fault) => {
    const faulty = await startApi({ databaseUrl: shop.db.url, providerUrl: shop.provider.url, FAULTS: 'on' });
    const answer = await post(`${faulty.url}/v1/checkouts`, checkoutBody(), {
      headers: { 'sandbox-fault': fault },
    });
    await faulty.stop();
    expect([answer.status, answer.body.code]).toEqual([400, 'sandbox_fault_invalid']);
    expect(answer.body.detail).toContain('phase.before_commit:order_created');
  });

  it('means nothing where faults are off', async () => {
    const headers = { 'sandbox-fault': 'reply.before_send=crash' };
    expect((await post(orders(), orderBody(), { headers })).status).toBe(201);
  });
});

describe('Waiting for a lock', () => {
  it('ends in 409 or 503 with Retry-After, never in a 500 [ERR-6]', async () => {
    const order = await post(orders(), orderBody());
    const blocker = new pg.Client(shop.db.url);
    await blocker.connect();
    await blocker.query('BEGIN');
    await blocker.query("SELECT 1 FROM orders WHERE tenant_id = 'acme' AND id = $1 FOR UPDATE", [
      order.body.id,
    ]);
    const key = randomUUID();
    await blocker.query(
      `INSERT INTO idempotency_keys SELECT (jsonb_populate_record(k, jsonb_build_object('key', $1::text))).* FROM idempotency_keys k LIMIT 1`,
      [key],
    );
    const [charge, claim] = await Promise.all([
      post(`${shop.api.url}/v1/charges`, { orderId: order.body.id, paymentMethod: 'pm_card_visa' }),
      post(orders(), orderBody(), { key }),
    ]);
    await blocker.query('ROLLBACK');
    await blocker.end();
    expect([charge.status, charge.body.code]).toEqual([503, 'store_unavailable']);
    expect([claim.status, claim.body.code]).toEqual([409, 'idempotency_key_in_use']);
    for (const { headers } of [charge, claim])
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });
});
