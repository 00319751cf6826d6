import { randomUUID } from 'node:crypto';
import { checkoutBody, post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { expectLedgersAgree } from '../support/refunds.js';
import { spawnApi, type SpawnedApi } from '../support/start-api.js';
import { startPgBouncer, type PgBouncer } from './pgbouncer.js';
import { describeWith, findProgram } from './programs.js';

/** Fewer than connections, so that no client has the session of before. */
const SESSIONS = 3;

describeWith('PgBouncer', findProgram('pgbouncer'), 'Behind PgBouncer in transaction mode', (program) => {
  let db: TestDatabase;
  let pooler: PgBouncer;
  let provider: MockProvider;
  let mailbox: Mailbox;
  const processes: SpawnedApi[] = [];

  beforeAll(async () => {
    [db, provider, mailbox] = await Promise.all([createTestDatabase(), startMockProvider(), startMailbox()]);
    pooler = await startPgBouncer(program, db.url, SESSIONS);
  });
  afterAll(async () => {
    await Promise.all(processes.map((process) => process.stop()));
    await pooler.stop();
    await Promise.all([provider.stop(), mailbox.stop()]);
    await db.drop();
  });

  const start = async () => {
    const started = await spawnApi({
      databaseUrl: pooler.url(db.url),
      providerUrl: provider.url,
      smtpUrl: mailbox.smtpUrl,
      IDEMPOTENCY_LEASE_SECONDS: '3',
      PREPARED_STATEMENTS: 'off',
      WORKER_PORT: '0',
    });
    processes.push(started);
    return started;
  };
  const checkout = (api: SpawnedApi, key: string) => post(`${api.url}/v1/checkouts`, checkoutBody(), { key });
  /** As a client does. */
  const insisting = async (api: SpawnedApi, key: string) => {
    for (let tries = 0; tries < 100; tries++) {
      const answer = await checkout(api, key);
      if (answer.status < 300) return answer;
      expect([409, 503]).toContain(answer.status);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error('no success in 100 tries');
  };

  it('all goes well without prepared statements: keys, takeovers after kill -9, refunds, receipts', async () => {
    const [one, other] = [await start(), await start()];
    const keys = Array.from({ length: 40 }, () => randomUUID());
    const cut = keys.slice(20).map((key) => checkout(one, key).catch(() => undefined));
    const whole = await Promise.all(keys.slice(0, 20).map((key) => insisting(other, key)));
    await one.kill('SIGKILL');
    await Promise.all(cut);
    const rest = await Promise.all(keys.slice(20).map((key) => insisting(other, key)));
    const replays = await Promise.all(keys.map((key) => checkout(other, key)));
    expect(replays.map(({ text }) => text)).toEqual([...whole, ...rest].map(({ text }) => text));

    const { charge } = whole[0]!.body;
    const refund = await post(`${other.url}/v1/charges/${charge.id}/refunds`, { amount: 100 });
    expect(refund.status).toBe(201);
    await db.sql("UPDATE outbox_messages SET due_at = now() - interval '1 s' WHERE sent_at IS NULL"); // leases of the killed are over
    expect(await mailbox.received(41)).toHaveLength(41);
    await expectLedgersAgree(db, provider);
    const [orders] = await db.sql(
      "SELECT count(*)::int FROM orders WHERE status LIKE '%paid%' OR status LIKE '%refunded%'",
    );
    expect(orders).toEqual({ count: 40 });
    expect(other.logs()).not.toMatch(/prepared statement/);
  });
});
