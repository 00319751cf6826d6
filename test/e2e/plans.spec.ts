import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { checkoutBody, post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { fill, GROWN_TABLES } from '../support/grow.js';
import { scrape } from '../support/metrics.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { ACME, startApi, type StartedApi } from '../support/start-api.js';

/** Far above what any statement may read, and little enough to be loaded in seconds. */
const FINISHED = 20_000;
const WAITING = 50;
const CHECKOUTS = 20;
/** A page or two. */
const FEW = 60;

const TABLES = [...GROWN_TABLES, 'inbox_messages'];

/** Rows that were read, by table. */
type Reads = Record<string, { seq: number; index: number }>;

/**
 * What PostgreSQL itself counts, not what EXPLAIN expects: with the service's own sessions, prepared statements and
 * settings, and with the look-ups that foreign keys make. When the statistics were taken decides about plans, so each
 * case has its own time.
 */
describe.each([
  ['never', async () => undefined],
  ['when each table had one row', (db: TestDatabase) => db.sql(`VACUUM ANALYZE ${TABLES.join(', ')}`)],
  ['when all was there', undefined],
])('Among 20,000 that have finished, with statistics taken %s', (_when, takeEarly) => {
  let db: TestDatabase;
  let provider: MockProvider;
  let api: StartedApi | undefined;

  beforeAll(async () => {
    [db, provider] = await Promise.all([createTestDatabase({ poolSize: 1 }), startMockProvider()]);
    for (const table of TABLES) await db.sql(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
    await open('api');
    await checkout();
    await close();
    await takeEarly?.(db);
    for (const table of GROWN_TABLES) await fill((...query) => db.sql(...query), table, FINISHED, 2);
    await db.sql(
      `INSERT INTO inbox_messages (tenant_id, source, id, payload, applied_at)
       SELECT $1, 'provider', 'evt_' || n, '{}', now() FROM generate_series(1, $2::int) AS n`,
      [ACME.tenant, FINISHED],
    );
    if (!takeEarly) await db.sql(`VACUUM ANALYZE ${TABLES.join(', ')}`);
  });
  afterAll(async () => {
    await close();
    await provider.stop();
    await db.drop();
  });

  const open = async (role: 'api' | 'all') => {
    const urls = { databaseUrl: db.url, providerUrl: provider.url };
    api = await startApi({ ...urls, ROLE: role, OPERATOR_TOKENS: 'operator-token-0001' });
  };
  const checkout = async (key: string = randomUUID()) => {
    expect((await post(`${api!.url}/v1/checkouts`, checkoutBody(), { key })).status).toBe(201);
    return key;
  };
  const close = async () => {
    await api?.stop();
    api = undefined;
  };

  /** What the service reads while `work` goes on; its sessions end, as they report at the latest then. */
  async function readsOf(role: 'api' | 'all', work: () => Promise<void>): Promise<Reads> {
    await untilAlone();
    const before = await counted();
    await open(role);
    await work();
    await close();
    await untilAlone();
    const after = await counted();
    return Object.fromEntries(
      TABLES.map((table) => {
        const [was, is] = [before[table]!, after[table]!];
        return [table, { seq: is.seq - was.seq, index: is.index - was.index }];
      }),
    );
  }

  async function untilAlone(): Promise<void> {
    const others = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    while ((await db.sql(others)).length > 0) await sleep(20);
  }

  /** By a session that reports what it has read itself first. */
  async function counted(): Promise<Reads> {
    await db.sql('SELECT pg_stat_force_next_flush()');
    const client = new pg.Client(db.url);
    await client.connect();
    const { rows } = await client.query<{ relname: string; seq: string; index: string }>(
      `SELECT relname, seq_tup_read AS seq, idx_tup_fetch AS index FROM pg_stat_user_tables
        WHERE relname = ANY ($1)`,
      [TABLES],
    );
    await client.end();
    return Object.fromEntries(
      rows.map(({ relname, seq, index }) => [relname, { seq: Number(seq), index: Number(index) }]),
    );
  }

  function expectFewReads(reads: Reads, most: number): void {
    const many = Object.entries(reads).filter(([, { seq, index }]) => seq > 0 || index > most);
    expect(many).toEqual([]);
  }

  it('a checkout, and its replay, read a handful of rows, each by an index', async () => {
    const reads = await readsOf('api', async () => {
      for (let n = 0; n < CHECKOUTS; n++) await checkout(await checkout());
    });
    expect(reads['idempotency_keys']!.index).toBeGreaterThanOrEqual(CHECKOUTS);
    expectFewReads(reads, 10 * CHECKOUTS);
  });

  it('what waits for the worker is found without reading what does not', async () => {
    for (const statement of WAIT) await db.sql(statement);
    const reads = await readsOf('all', async () => {
      const jobs = ['Completer', 'Relay', 'Inbox', 'Reconciler', 'RefundReconciler', 'Reaper', 'Sweep'];
      while (jobs.length > 0) {
        const told = await scrape(api!.url); // reads the gauges of what waits as well
        if ((told.value('checkout_job_items_total', { job: jobs[0]! }) ?? 0) > 0) jobs.shift();
        else await sleep(50);
      }
    });
    expectFewReads(reads, FINISHED / 4);
  });

  it.each([
    ['were empty', async () => undefined],
    [
      'had a few rows',
      async () => {
        for (let n = 0; n < FEW; n++) await checkout();
        await db.sql(`VACUUM ANALYZE ${TABLES.join(', ')}`);
      },
    ],
  ])('sessions that were there when the tables %s read no more than others', async (_when, before) => {
    const reads = await readsOf('api', async () => {
      for (const table of TABLES) await db.sql(`TRUNCATE ${table} CASCADE`);
      await before();
      for (let n = 0; n < CHECKOUTS; n++) await checkout(await checkout()); // plans that are kept from now on
      for (const table of GROWN_TABLES) await fill((...query) => db.sql(...query), table, FINISHED, 2);
      for (let n = 0; n < CHECKOUTS; n++) await checkout(await checkout());
    });
    const loading = 3 * FINISHED; // reads the model, and asks for each row that another one names
    for (const { seq, index } of Object.values(reads)) {
      expect(seq).toBeLessThanOrEqual(1);
      expect(index).toBeLessThan(loading);
    }
  });
});

/** Something for every job, and nothing that it could do in a round and be done with. */
const WAIT = [
  `UPDATE idempotency_keys SET status = 'in_progress', operation = 'of_another_build', reply_status = NULL,
     reply_body = NULL, expires_at = NULL, next_run_at = now() - interval '1 h'
   WHERE key IN (SELECT key FROM idempotency_keys WHERE id LIKE 'idem_0000%' ORDER BY id LIMIT ${WAITING})`,
  `UPDATE idempotency_keys SET expires_at = now() - interval '1 s'
   WHERE key IN (SELECT key FROM idempotency_keys WHERE status = 'finished' AND id LIKE 'idem_0000%' ORDER BY id LIMIT ${WAITING})`,
  `UPDATE outbox_messages SET topic = 'of_another_build', sent_at = NULL, due_at = now()
   WHERE id IN (SELECT id FROM outbox_messages WHERE id LIKE 'msg_0000%' ORDER BY id LIMIT ${WAITING})`,
  `UPDATE inbox_messages SET source = 'another_build', applied_at = NULL
   WHERE id IN (SELECT id FROM inbox_messages ORDER BY id LIMIT ${WAITING})`,
  `UPDATE charges SET status = 'requires_action', next_poll_at = now()
   WHERE id IN (SELECT id FROM charges WHERE id LIKE 'ch_0000%' ORDER BY id LIMIT ${WAITING})`,
  `INSERT INTO refunds (tenant_id, id, charge_id, status, amount, currency, derived_key, provider_id)
   SELECT tenant_id, 're_' || id, id, 'pending', amount, currency, 're:' || id, 're_' || id
     FROM charges WHERE status = 'succeeded' AND id LIKE 'ch_0000%' ORDER BY id LIMIT ${WAITING}`,
  `UPDATE charges SET confirmed_at = NULL, created_at = now() - interval '1 d'
   WHERE id IN (SELECT id FROM charges WHERE status = 'succeeded' AND id LIKE 'ch_0000%' ORDER BY id LIMIT ${WAITING})`,
  'UPDATE sweeps SET due_at = now()',
];
