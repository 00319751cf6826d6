import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { Completer } from '../../src/idempotency/completer.js';
import { MessageHandlers } from '../../src/outbox/delivery.js';
import { OutboxStore } from '../../src/outbox/outbox.store.js';
import { Relay } from '../../src/outbox/relay.js';
import { checkoutBody, post } from '../support/checkout.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { openShop, type Shop } from '../support/shop.js';
import { thoroughly } from '../support/thoroughly.js';

/** An hour of a busy shop is a million: see `npm run bench:snapshot`. */
const DONE_WITH = thoroughly ? 100_000 : 10_000;

/** Of every claim: a worker that is stuck in one for longer would not keep up. */
const CLAIM_MS = 5_000;

describe('While an old snapshot keeps every row that is done with', () => {
  let shop: Shop;
  let report: pg.Client;
  beforeAll(async () => {
    shop = await openShop({ ROLE: 'api' }, [{ module: RecoveryParts }]);
    report = new pg.Client({ connectionString: shop.db.url });
    await report.connect();
    await report.query('SET idle_in_transaction_session_timeout = 0');
    await report.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await report.query('SELECT count(*) FROM tenants');
    for (const statement of COME_AND_GO) await shop.db.sql(statement);
    for (const work of ['ANALYZE', 'VACUUM']) await shop.db.sql(`${work} outbox_messages, idempotency_keys`);
  });
  afterAll(async () => {
    await report.end();
    await shop.close();
  });

  const checkout = (key: string = randomUUID()) =>
    post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key });

  it('none of that is cleared away', async () => {
    const dead = await shop.db.sql<{ n_dead_tup: string }>(
      `SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname IN ('outbox_messages', 'idempotency_keys')`,
    );
    for (const { n_dead_tup } of dead) expect(Number(n_dead_tup)).toBeGreaterThanOrEqual(DONE_WITH);
  });

  it('what is due is delivered all the same, message by message', async () => {
    expect((await checkout()).status).toBe(201);
    const handlers = new MessageHandlers();
    const delivered: string[] = [];
    handlers.register({
      topic: 'receipt',
      deliver: async ({ dedupeKey }) => void delivered.push(dedupeKey),
    });
    const relay = new Relay(new OutboxStore(shop.db.database), handlers);
    const begun = performance.now();
    expect(await relay.runOnce()).toMatchObject({ claimed: 1, sent: 1 });
    expect(performance.now() - begun).toBeLessThan(CLAIM_MS);
    expect(delivered).toEqual([expect.stringContaining('receipt')]);
  });

  it('what was abandoned is found and finished', async () => {
    const key = randomUUID();
    await shop.provider.fault('error_before', { times: 2 });
    expect((await checkout(key)).status).toBe(503);
    await shop.db.sql("UPDATE idempotency_keys SET next_run_at = now() - interval '1 s' WHERE key = $1", [
      key,
    ]);
    const begun = performance.now();
    expect(await shop.api.app.get(Completer).runOnce()).toMatchObject({ claimed: 1, finished: 1 });
    expect(performance.now() - begun).toBeLessThan(CLAIM_MS);
    expect((await checkout(key)).status).toBe(201);
  });
});

/** In the range that claims look through: due, and done with. */
const COME_AND_GO = [
  `INSERT INTO outbox_messages (tenant_id, id, dedupe_key, topic, ordering_key, payload, due_at)
   SELECT 'acme', n, n, 'done', n, '{}', now() FROM generate_series(1, ${DONE_WITH}) AS n`,
  `UPDATE outbox_messages SET due_at = NULL, sent_at = now() WHERE topic = 'done'`,
  `INSERT INTO idempotency_keys (tenant_id, key, id, operation, fingerprint_scheme, fingerprint, member_hashes, status,
     recovery_point, owner, version, next_run_at, attempts, request_id)
   SELECT 'acme', gen_random_uuid()::text, 'done_' || n, 'done', 1, decode(repeat('00', 32), 'hex'), '{}', 'in_progress',
     'order_created', gen_random_uuid(), 1, now() - interval '1 h', 1, 'req' FROM generate_series(1, ${DONE_WITH}) AS n`,
  `UPDATE idempotency_keys SET status = 'finished', reply_status = 201, reply_body = '',
     expires_at = now() + interval '72 h' WHERE operation = 'done'`,
];
