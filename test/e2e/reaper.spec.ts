import { randomUUID } from 'node:crypto';
import { Reaper } from '../../src/background/reaper.js';
import { checkoutBody, get, orderBody, post } from '../support/checkout.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { ACME, GLOBEX, startApi, type StartedApi } from '../support/start-api.js';

let db: TestDatabase;
let provider: MockProvider;
let api: StartedApi;
let reaper: Reaper;
beforeAll(async () => {
  [db, provider] = await Promise.all([createTestDatabase(), startMockProvider()]);
  api = await startApi({ databaseUrl: db.url, providerUrl: provider.url, ROLE: 'api' }, [
    { module: RecoveryParts },
  ]);
  reaper = api.app.get(Reaper, { strict: false });
});
afterAll(async () => {
  await api.stop();
  await provider.stop();
  await db.drop();
});
beforeEach(() => db.sql('TRUNCATE idempotency_keys, reviews, outbox_messages, inbox_messages'));

const order = (key: string, apiKey = ACME.key) => post(`${api.url}/v1/orders`, orderBody(), { key, apiKey });

async function finishedKey(apiKey = ACME.key): Promise<string> {
  const key = randomUUID();
  expect((await order(key, apiKey)).status).toBe(201);
  return key;
}

const expire = (key: string) =>
  db.sql("UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1", [key]);
const exists = async (key: string) =>
  (await db.sql('SELECT 1 FROM idempotency_keys WHERE key = $1', [key])).length === 1;

const NOTHING = { keys: 0, outbox: 0, inbox: 0 };

/** So many expired keys, as a week of traffic leaves them. */
const expiredKeys = (count: number, tenant = ACME.tenant) =>
  db.sql(
    `INSERT INTO idempotency_keys (tenant_id, key, id, operation, fingerprint_scheme, fingerprint, member_hashes, status,
       recovery_point, owner, version, next_run_at, attempts, request_id, reply_status, reply_body, expires_at)
     SELECT $1, 'old-' || n, 'idem_' || n, 'create_order', 1, decode(repeat('00', 32), 'hex'), '{}', 'finished',
       'finished', gen_random_uuid(), 2, now(), 1, 'req', 201, '', now() - n * interval '1 s'
       FROM generate_series(1, $2::int) AS n`,
    [tenant, count],
  );

describe('The reaper', () => {
  it('deletes a finished key once its retention is over, not before', async () => {
    const [expired, kept] = [await finishedKey(), await finishedKey()];
    await expire(expired);
    expect(await reaper.runOnce()).toEqual({ ...NOTHING, keys: 1 });
    expect([await exists(expired), await exists(kept)]).toEqual([false, true]);
  });

  it.each(['in_progress', 'review'])('never deletes a key that is %s, however old [T-4]', async (status) => {
    const key = await finishedKey();
    await db.sql(
      `UPDATE idempotency_keys SET status = $2, reply_status = NULL, reply_body = NULL, in_doubt = true,
         created_at = now() - interval '1 year', next_run_at = now() - interval '1 year',
         expires_at = now() - interval '1 year'
       WHERE key = $1`,
      [key, status],
    );
    expect(await reaper.runOnce()).toEqual(NOTHING);
    expect(await exists(key)).toBe(true);
  });

  it('leaves a finished key as long as a question about it is open [T-4]', async () => {
    const key = await finishedKey();
    await expire(key);
    await db.sql(
      `INSERT INTO reviews (tenant_id, id, subject_kind, subject_id, reason, evidence)
       SELECT tenant_id, 'rev_1', 'idempotency_key', id, 'late_success', '{}' FROM idempotency_keys WHERE key = $1`,
      [key],
    );
    await expiredKeys(3);
    expect(await reaper.runOnce()).toEqual({ ...NOTHING, keys: 3 });
    expect(await exists(key)).toBe(true);
    await db.sql("UPDATE reviews SET decision = 'mark_failed', decided_at = now()");
    expect(await reaper.runOnce()).toEqual({ ...NOTHING, keys: 1 });
  });

  it('touches nothing but the key: order, charge, ledger and derived key stay [T-5]', async () => {
    const key = randomUUID();
    const { body } = await post(`${api.url}/v1/checkouts`, checkoutBody(), { key });
    const business = () =>
      db.sql(
        `SELECT to_json(orders) AS "order", to_json(charges) AS charge, to_json(ledger_entries) AS ledger
           FROM orders JOIN charges ON (charges.tenant_id, charges.order_id) = (orders.tenant_id, orders.id)
           JOIN ledger_entries ON (ledger_entries.tenant_id, subject) = (orders.tenant_id, orders.id) WHERE orders.id = $1`,
        [body.order.id],
      );
    const before = await business();
    expect(before).toHaveLength(1);
    await expire(key);
    expect(await reaper.runOnce()).toEqual({ ...NOTHING, keys: 1 });
    expect(await business()).toEqual(before);
    expect((await get(`${api.url}/v1/charges/${body.charge.id}`)).text).toBe(JSON.stringify(body.charge));
  });

  it('goes in small batches, of each tenant in each round, until nothing is left [T-6]', async () => {
    await expiredKeys(450);
    await expiredKeys(10, GLOBEX.tenant);
    expect(await reaper.runOnce()).toEqual({ ...NOTHING, keys: 210 });
    expect(await reaper.runOnce()).toEqual({ ...NOTHING, keys: 200 });
    expect(await reaper.runOnce()).toEqual({ ...NOTHING, keys: 50 });
    expect(await reaper.runOnce()).toEqual(NOTHING);
  });

  it('shares the work with other reapers, none of which waits for another [T-6]', async () => {
    await expiredKeys(1_500);
    const rounds = await Promise.all(Array.from({ length: 4 }, () => reaper.runOnce()));
    const deleted = rounds.map(({ keys }) => keys!).reduce((sum, keys) => sum + keys);
    const [left] = await db.sql<{ count: number }>('SELECT count(*)::int FROM idempotency_keys');
    expect(deleted + left!.count).toBe(1_500);
    expect(deleted).toBeGreaterThanOrEqual(200);
  });

  it('steps over a key that somebody has locked', async () => {
    const key = await finishedKey();
    await expire(key);
    await expiredKeys(2);
    await db.database.transaction(async (tx) => {
      await tx
        .managerFor('acme')
        .query("SELECT 1 FROM idempotency_keys WHERE tenant_id = 'acme' AND key = $1 FOR UPDATE", [key]);
      expect(await reaper.runOnce()).toEqual({ ...NOTHING, keys: 2 });
    });
    expect(await exists(key)).toBe(true);
  });

  it('stops between two batches when it is told to', async () => {
    await expiredKeys(10);
    expect(await reaper.runOnce(AbortSignal.abort())).toEqual(NOTHING);
  });

  it('finds what it deletes by indexes alone, however much is kept', async () => {
    await expiredKeys(20_000);
    await db.sql("UPDATE idempotency_keys SET expires_at = now() + interval '1 d' WHERE id <> 'idem_7'");
    await db.sql(
      `INSERT INTO outbox_messages (tenant_id, id, dedupe_key, topic, payload, due_at, sent_at)
       SELECT 'acme', n, n, 'receipt', '{}', NULL, now() FROM generate_series(1, 20000) AS n`,
    );
    await db.sql(
      `INSERT INTO inbox_messages (tenant_id, source, id, payload, applied_at)
       SELECT 'acme', 'provider', n, '{}', now() FROM generate_series(1, 20000) AS n`,
    );
    await db.sql('VACUUM ANALYZE idempotency_keys, outbox_messages, inbox_messages');
    for (const { tenants, remove, days } of reaper.kept) {
      const plans = [
        await db.sql(`EXPLAIN ${tenants.text}`, [days, new Date()]),
        await db.sql(`EXPLAIN ${remove.text}`, [ACME.tenant, days, new Date()]),
      ].map((lines) => JSON.stringify(lines));
      for (const plan of plans) expect(plan).not.toMatch(/Seq Scan on (idempotency_keys|\w+_messages)/);
    }
    expect(await reaper.runOnce()).toEqual({ ...NOTHING, keys: 1 });
  });
});

describe('A request with a key that has just expired', () => {
  it('races safely with the reaper: one execution, one order [T-7]', async () => {
    const keys = [];
    for (let n = 0; n < 10; n++) keys.push(await finishedKey());
    const [before] = await db.sql<{ count: number }>('SELECT count(*)::int FROM orders');
    await db.sql("UPDATE idempotency_keys SET expires_at = now() - interval '1 s'");
    const reaping = Array.from({ length: 20 }, () => reaper.runOnce());
    const answers = await Promise.all(keys.flatMap((key) => [order(key), order(key), order(key)]));
    await Promise.all(reaping);
    expect(answers.filter(({ status }) => ![201, 409].includes(status))).toEqual([]);
    const [after] = await db.sql<{ count: number }>('SELECT count(*)::int FROM orders');
    expect(after!.count - before!.count).toBe(keys.length);
    for (const [index, key] of keys.entries()) {
      const [, ...seen] = answers.slice(3 * index, 3 * index + 3).filter(({ status }) => status === 201);
      const replay = await order(key);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      for (const { text } of seen) expect(replay.text).toBe(text);
    }
  });
});

describe('Messages', () => {
  it('that were sent are deleted after a week; what is not sent, or is dead, is kept', async () => {
    await db.sql(
      `INSERT INTO outbox_messages (tenant_id, id, dedupe_key, topic, payload, due_at, sent_at, dead_at) VALUES
         ('acme', 'old', 'old', 'receipt', '{}', NULL, now() - interval '169 h', NULL),
         ('acme', 'new', 'new', 'receipt', '{}', NULL, now() - interval '167 h', NULL),
         ('acme', 'due', 'due', 'receipt', '{}', now() - interval '1 y', NULL, NULL),
         ('acme', 'dead', 'dead', 'receipt', '{}', NULL, NULL, now() - interval '1 y')`,
    );
    expect(await reaper.runOnce()).toEqual({ ...NOTHING, outbox: 1 });
    const left = await db.sql<{ id: string }>('SELECT id FROM outbox_messages ORDER BY id');
    expect(left.map(({ id }) => id)).toEqual(['dead', 'due', 'new']);
  });

  it('that were received and applied are deleted after 30 days; what is not applied is kept', async () => {
    await db.sql(
      `INSERT INTO inbox_messages (tenant_id, source, id, payload, received_at, applied_at) VALUES
         ('acme', 'provider', 'old', '{}', now() - interval '1 y', now() - interval '721 h'),
         ('acme', 'provider', 'new', '{}', now() - interval '1 y', now() - interval '719 h'),
         ('acme', 'provider', 'due', '{}', now() - interval '1 y', NULL)`,
    );
    expect(await reaper.runOnce()).toEqual({ ...NOTHING, inbox: 1 });
    const left = await db.sql<{ id: string }>('SELECT id FROM inbox_messages ORDER BY id');
    expect(left.map(({ id }) => id)).toEqual(['due', 'new']);
  });
});
