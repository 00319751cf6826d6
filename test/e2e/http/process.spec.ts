import { Agent, get, type IncomingMessage } from 'node:http';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { holdLock, waitingForLock } from '../../support/locks.js';
import { ACME, environment, spawnApi, spawnMain, type SpawnedApi } from '../../support/start-api.js';

describe('The process', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
    // A lock is held here for as long as a test likes, not for as long as the service would wait.
    await db.sql(`DO $$ BEGIN EXECUTE format('ALTER ROLE %I IN DATABASE %I SET lock_timeout = 0',
                   current_user, current_database()); END $$`);
  });
  afterAll(() => db.drop());

  const start = (settings = {}) => spawnApi({ databaseUrl: db.url, ...settings });

  it('exits 0 on SIGTERM, even with a client that keeps its connection', async () => {
    const api = await start();
    const agent = new Agent({ keepAlive: true });
    await request(`${api.url}/health/live`, agent);
    const told = performance.now();
    expect(await api.stop()).toBe(0);
    expect(performance.now() - told).toBeLessThan(2_000);
    agent.destroy();
  });

  it('finishes what it has begun before it goes', async () => {
    const api = await start();
    const release = await holdLock(db, 'orders');
    const pending = fetch(`${api.url}/v1/orders`, {
      headers: { Authorization: `Bearer ${ACME.key}` },
    });
    await waitingForLock(db);
    const exited = api.stop();
    await drained(api);
    await release();
    expect((await pending).status).toBeLessThan(500);
    expect(await exited).toBe(0);
  });

  it('exits at once on a second signal', async () => {
    const api = await start();
    const release = await holdLock(db, 'orders');
    const pending = fetch(`${api.url}/v1/orders`, {
      headers: { Authorization: `Bearer ${ACME.key}` },
    });
    const cut = expect(pending).rejects.toThrow();
    await waitingForLock(db);
    const exited = api.stop();
    await drained(api);
    api.process.kill('SIGTERM');
    expect(await exited).toBe(1);
    await cut;
    await release();
  });

  it('goes when the parent that started it is gone', async () => {
    const api = await start();
    const exited = new Promise((resolve) => api.process.once('exit', resolve));
    api.process.disconnect();
    expect(await exited).not.toBe(1); // 1 would be a shutdown that failed
    await expect(fetch(`${api.url}/health/live`)).rejects.toThrow();
  });

  it('says every wrong name of its environment at once, without a stack, and exits 1', async () => {
    const env = {
      ...environment({ databaseUrl: 'mysql://x' }),
      PORT: 'http',
      HASH_SECRET: 'short',
      IDEMPOTENCY_LEASE_SECONDS: '1',
    };
    const main = spawnMain(env);
    expect(await main.exited).toBe(1);
    for (const name of ['DATABASE_URL', 'PORT', 'HASH_SECRET', 'IDEMPOTENCY_LEASE_SECONDS'])
      expect(main.logs()).toContain(name);
    expect(main.logs()).not.toMatch(/\bat .*\.js:/);
  });

  it('names the variable to set when its port is taken, and exits 1', async () => {
    const first = await start();
    const second = spawnMain({ ...environment({ databaseUrl: db.url }), PORT: new URL(first.url).port });
    expect(await second.exited).toBe(1);
    expect(second.logs()).toMatch(/Port \d+ is taken: .* set PORT to another/);
    await first.stop();
  });

  it('logs one line per request: its id, route and tenant, and nothing secret or personal', async () => {
    const api = await start({ LOG_LEVEL: 'debug' });
    const response = await fetch(`${api.url}/v1/nowhere/ada@example.com?email=ada@example.com`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${ACME.key}`,
        'Idempotency-Key': 'key-of-ada',
        Cookie: 'session=ada',
      },
      body: '{"email":"ada@example.com"}',
    });
    await api.stop();
    const id = response.headers.get('request-id')!;
    const lines = api
      .logs()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter((line) => line['requestId'] === id)).toMatchObject([
      {
        msg: 'request',
        method: 'POST',
        route: 'none',
        status: 404,
        code: 'route_not_found',
        ms: expect.any(Number),
      },
    ]);
    expect(api.logs()).not.toMatch(/ada@|ck_test_acme|key-of-ada|session=|sandbox-only-secret|sk_test/);
  });

  it('serves only its probes as a worker', async () => {
    const worker = await start({ ROLE: 'worker', WORKER_PORT: '0', PORT: '1' });
    expect((await fetch(`${worker.url}/health/live`)).status).toBe(200);
    expect((await fetch(`${worker.url}/v1/checkouts`, { method: 'POST' })).status).toBe(404);
    expect(await worker.stop()).toBe(0);
  });
});

function request(url: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => response.resume().once('end', () => resolve(response))).once(
      'error',
      reject,
    );
  });
}

/** Until the process has said that it is shutting down. */
async function drained(api: SpawnedApi): Promise<void> {
  while (!api.logs().includes('Shutting down')) await new Promise(setImmediate);
}
