import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { checkoutBody, orderBody, post } from '../support/checkout.js';
import { DatabaseProxy } from '../support/database-proxy.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { spawnApi, type SpawnedApi } from '../support/start-api.js';

describe('Connections that the server ends at any moment', () => {
  let db: TestDatabase;
  let provider: MockProvider;
  let api: SpawnedApi;

  beforeAll(async () => {
    [db, provider] = await Promise.all([createTestDatabase(), startMockProvider()]);
    api = await spawnApi({ databaseUrl: db.url, providerUrl: provider.url, ROLE: 'api' });
  });
  afterAll(async () => {
    await api.stop();
    await provider.stop();
    await db.drop();
  });

  const kills = `SELECT count(pg_terminate_backend(pid))::int AS killed FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid()`;

  it('cost retries, never a 500, a second charge, a process or a slot of the pool', async () => {
    const killer = new pg.Client(db.url); // spares itself alone: the test's own pool is cut as well
    await killer.connect();
    let killed = 0;
    const storm = (async () => {
      for (let round = 0; round < 200; round++) {
        killed += (await killer.query<{ killed: number }>(kills)).rows[0]!.killed;
        await sleep(10);
      }
    })();
    const statuses = new Set<number>();
    const order = await untilDone(orderBody, '/v1/orders', statuses);
    const work = Array.from({ length: 40 }, (_, n) =>
      n % 4 === 0
        ? untilDone(
            () => ({ orderId: order.body.id as string, paymentMethod: 'pm_card_visa' }),
            '/v1/charges',
            statuses,
          )
        : untilDone(checkoutBody, '/v1/checkouts', statuses),
    );
    const answers = await Promise.all(work);
    await storm;
    await killer.end();
    expect(killed).toBeGreaterThan(40);
    expect([...statuses].filter((status) => ![201, 409, 503].includes(status))).toEqual([]);
    expect(api.process.exitCode).toBeNull();
    const paid = answers.filter(({ status }) => status === 201);
    expect(paid.length).toBeGreaterThanOrEqual(31);
    const { charges } = await provider.ledger();
    const orders = charges.map(({ metadata }) => metadata['order_id']);
    expect(new Set(orders).size).toBe(orders.length);
    const rows = await db.sql(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'",
    );
    expect(rows).toEqual([]);
  });

  /** As a client would: the same key, until the answer is final. */
  async function untilDone(body: () => Record<string, unknown>, path: string, statuses: Set<number>) {
    const key = randomUUID();
    for (;;) {
      const answer = await post(`${api.url}${path}`, body(), { key });
      statuses.add(answer.status);
      const final = answer.status < 500 && answer.headers.get('should-retry') !== 'true';
      if (final || answer.body.code === 'order_payment_in_progress') return answer;
      await db
        .sql("UPDATE idempotency_keys SET locked_until = NULL WHERE key = $1 AND status = 'in_progress'", [
          key,
        ])
        .catch(() => undefined);
    }
  }
});

describe('Many keys that pay one order', () => {
  it('take its locks in one order: no deadlock', async () => {
    const db = await createTestDatabase();
    const provider = await startMockProvider();
    const api = await spawnApi({ databaseUrl: db.url, providerUrl: provider.url, ROLE: 'api' });
    for (let round = 0; round < 5; round++) {
      const order = await post(`${api.url}/v1/orders`, orderBody());
      const body = { orderId: order.body.id as string, paymentMethod: 'pm_card_visa' };
      const answers = await Promise.all(
        Array.from({ length: 40 }, () => post(`${api.url}/v1/charges`, body)),
      );
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(39);
    }
    await api.stop(); // counters are written when sessions end
    const [counters] = await db.sql(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(counters).toEqual({ deadlocks: 0 });
    await provider.stop();
    await db.drop();
  });
});

describe('A connection that is half-open', () => {
  it('has its place in the pool back once no statement could still be running: the next request is served', async () => {
    const db = await createTestDatabase();
    const { hostname, port } = new URL(db.url);
    const proxy = new DatabaseProxy({ host: hostname, port: Number(port) });
    const databaseUrl = Object.assign(new URL(db.url), { port: String(await proxy.listen()) }).href;
    const settings = { ROLE: 'api', DATABASE_POOL_SIZE: '1', IDEMPOTENCY_LEASE_SECONDS: '3' };
    const api = await spawnApi({ databaseUrl, ...settings });
    const order = () => post(`${api.url}/v1/orders`, orderBody());
    expect((await order()).status).toBe(201);

    proxy.freeze();
    const frozenAt = performance.now();
    expect((await order()).status).toBe(201); // its COMMIT may have happened: looked up on a new connection, and made again
    expect((await order()).status).toBe(201);
    expect(await db.sql('SELECT count(*)::int AS orders FROM orders')).toEqual([{ orders: 3 }]);
    expect(performance.now() - frozenAt).toBeLessThan(10_000); // 2.5 s; without a bound of its own, half a minute

    await api.stop();
    await proxy.close();
    await db.drop();
  });
});

describe('A transaction that is one flight', () => {
  it.each(['lose_commit', 'lose_commit_answer', 'garble_commit_answer'] as const)(
    'is done once where its connection fails it: %s',
    async (fault) => {
      const [db, provider] = await Promise.all([createTestDatabase(), startMockProvider()]);
      const { hostname, port } = new URL(db.url);
      const proxy = new DatabaseProxy({ host: hostname, port: Number(port) });
      const databaseUrl = Object.assign(new URL(db.url), { port: String(await proxy.listen()) }).href;
      const api = await spawnApi({ databaseUrl, providerUrl: provider.url, ROLE: 'api' });
      const checkout = () => post(`${api.url}/v1/checkouts`, checkoutBody());
      expect((await checkout()).status).toBe(201);

      for (let times = 1; times <= 2; times++) {
        proxy.breakCommits(fault, times); // the first transaction; both of them
        expect((await checkout()).status).toBe(201); // looked up on another connection, and done where it was not
      }
      expect(proxy.met[fault]).toBe(3);
      expect(await db.sql("SELECT count(*)::int AS paid FROM orders WHERE status = 'paid'")).toEqual([
        { paid: 3 },
      ]);
      expect((await provider.ledger()).charges).toHaveLength(3);
      await api.stop();
      await Promise.all([proxy.close(), provider.stop()]);
      await db.drop();
    },
  );
});

describe('A first connection that breaks as soon as it is there', () => {
  it('is followed by others: the process serves', async () => {
    const db = await createTestDatabase();
    const { hostname, port } = new URL(db.url);
    const proxy = createServer((client) => {
      const server = connect(Number(port), hostname);
      const end = () => [client, server].forEach((socket) => socket.destroy());
      for (const socket of [client, server]) socket.on('error', end).on('close', end);
      server.pipe(client);
      client.on('data', (bytes) => {
        const isTheCheck = bytes.includes("current_setting('lock_timeout')");
        if (isTheCheck) end();
        else server.write(bytes);
      });
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const { port: through } = proxy.address() as AddressInfo;
    const databaseUrl = Object.assign(new URL(db.url), { port: String(through) }).href;
    const api = await spawnApi({ databaseUrl, ROLE: 'api' });
    expect((await post(`${api.url}/v1/orders`, orderBody())).status).toBe(201);
    expect(api.logs()).toContain('Timeouts not checked');
    await api.stop();
    proxy.close();
    await db.drop();
  });
});
