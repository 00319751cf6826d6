import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutBody, post, type Answer } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { spawnApi, type ApiOptions, type SpawnedApi } from '../support/start-api.js';

describe('A lease', () => {
  let db: TestDatabase;
  let provider: MockProvider;
  let options: ApiOptions;
  let api: SpawnedApi;

  beforeAll(async () => {
    [db, provider] = await Promise.all([createTestDatabase(), startMockProvider()]);
    options = { databaseUrl: db.url, providerUrl: provider.url, ROLE: 'api' };
    api = await spawnApi({ ...options, DATABASE_POOL_SIZE: '2' });
  });
  afterAll(async () => {
    await api.stop();
    await provider.stop();
    await db.drop();
  });
  afterEach(() => provider.clearFaults());

  const checkout = (at: SpawnedApi, key: string, body = checkoutBody()) =>
    post(`${at.url}/v1/checkouts`, body, { key });
  const leaseEnds = (key: string) =>
    db.sql("UPDATE idempotency_keys SET locked_until = now() - interval '1 s' WHERE key = $1", [key]);
  const row = async (key: string) =>
    (
      await db.sql<KeyColumns>(
        'SELECT *, locked_until > now() AS live FROM idempotency_keys WHERE key = $1',
        [key],
      )
    )[0];
  const chargesOf = async (answer: Answer) =>
    (await provider.ledger()).charges.filter(({ metadata }) => metadata['order_id'] === answer.body.order.id);

  async function until(condition: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 400; tries++) {
      if (await condition()) return;
      await sleep(10);
    }
    throw new Error('It did not come to be within 4 s');
  }

  it('is held without any transaction while the provider takes its time [C-11]', async () => {
    await provider.fault('delay', { times: 1, delayMs: 3_000 });
    const key = randomUUID();
    const running = checkout(api, key);
    await until(async () => (await row(key))?.recovery_point === 'order_created');
    for (let round = 0; round < 20; round++) {
      const idle = await db.sql(
        `SELECT state FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND (state = 'idle in transaction' OR xact_start IS NOT NULL)`,
      );
      expect(idle).toEqual([]);
      await sleep(100);
    }
    expect((await running).status).toBe(201);
  });

  it('of ten slow checkouts on a pool of two does not delay readiness or a replay by 100 ms', async () => {
    const done = randomUUID();
    await checkout(api, done);
    await provider.fault('delay', { times: 10, delayMs: 2_000 });
    const keys = Array.from({ length: 10 }, () => randomUUID());
    const running = keys.map((key) => checkout(api, key));
    await until(
      async () =>
        (await db.sql("SELECT 1 FROM idempotency_keys WHERE recovery_point = 'order_created'")).length === 10,
    );
    for (let round = 0; round < 5; round++) {
      expect(await milliseconds(() => fetch(`${api.url}/health/ready`))).toBeLessThan(100);
      expect(await milliseconds(() => checkout(api, done))).toBeLessThan(100);
    }
    for (const answer of await Promise.all(running)) expect(answer.status).toBe(201);
  });

  it('that is live answers 409 with Retry-After, and another body 422 before that [C-2, X-3, X-4]', async () => {
    await provider.fault('delay', { times: 1, delayMs: 1_500 });
    const key = randomUUID();
    const running = checkout(api, key);
    await until(async () => (await row(key))?.recovery_point === 'order_created');
    const busy = await checkout(api, key);
    expect(busy.status).toBe(409);
    expect(busy.body).toMatchObject({
      code: 'idempotency_key_in_use',
      error: { code: 'idempotency_key_in_use' },
    });
    expect(Number(busy.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(busy.headers.get('retry-after'))).toBeLessThanOrEqual(2);
    expect(busy.headers.get('idempotent-replayed')).toBeNull();
    expect((await checkout(api, key, checkoutBody({ currency: 'usd' }))).status).toBe(422);
    expect((await running).status).toBe(201);
  });

  it('is renewed while its owner works: slower than the lease, and not taken over [C-8]', async () => {
    const short = await spawnApi({
      ...options,
      IDEMPOTENCY_LEASE_SECONDS: '3',
      PROVIDER_TIMEOUT_SECONDS: '2.4',
    });
    await provider.fault('delay', { times: 1, delayMs: 2_200 });
    await provider.fault('delay', { times: 1, delayMs: 2_200 });
    const key = randomUUID();
    const running = checkout(short, key);
    await until(async () => (await row(key))?.recovery_point === 'order_created');
    const { locked_until: before, version } = (await row(key))!;
    await until(async () => (await row(key))!.locked_until > before);
    expect((await row(key))!.version).toBe(version);
    expect((await running).status).toBe(201);
    await short.stop();
  });

  it('outlasts its request: without an answer from the provider the client hears by the deadline', async () => {
    const short = await spawnApi({ ...options, IDEMPOTENCY_LEASE_SECONDS: '3' });
    await provider.fault('delay', { times: 3, delayMs: 20_000 });
    await provider.fault('search_down', { times: 3 });
    const key = randomUUID();
    const took = await milliseconds(async () => expect((await checkout(short, key)).status).toBe(503));
    expect(took).toBeLessThan(3_000);
    await provider.clearFaults();
    expect((await checkout(short, key)).status).toBe(201);
    await short.stop();
  });

  it('is not taken over before it ends, and raises version and attempts by one when it is [C-7]', async () => {
    const key = randomUUID();
    await provider.fault('drop_after', { times: 3 });
    await provider.fault('search_down', { times: 1 });
    const first = await checkout(api, key);
    expect(first.status).toBe(503);
    await db.sql("UPDATE idempotency_keys SET locked_until = now() + interval '20 s' WHERE key = $1", [key]);
    const before = (await row(key))!;
    expect((await checkout(api, key)).status).toBe(409);
    expect(await row(key)).toMatchObject({ version: before.version, attempts: before.attempts });
    await provider.clearFaults();
    await leaseEnds(key);
    const answer = await checkout(api, key);
    expect(answer.status).toBe(201);
    expect((await row(key))!.attempts).toBe(before.attempts + 1);
    expect((await row(key))!.version).toBe(before.version + 2); // the takeover, and the last phase
    expect(await chargesOf(answer)).toHaveLength(1);
  });

  it.each([5, -5])(
    'is judged by the clock of the database: an API %d minutes off changes nothing [C-9]',
    async (minutes) => {
      const off = await spawnApi({ ...options, NODE_OPTIONS: clockOffBy(minutes) } as ApiOptions);
      const key = randomUUID();
      await provider.fault('delay', { times: 1, delayMs: 1_000 });
      const running = checkout(off, key);
      await until(async () => (await row(key))?.recovery_point === 'order_created');
      const [lease] = await db.sql<{ seconds: number }>(
        'SELECT extract(epoch FROM locked_until - now())::float8 AS seconds FROM idempotency_keys WHERE key = $1',
        [key],
      );
      expect(lease!.seconds).toBeGreaterThan(25);
      expect(lease!.seconds).toBeLessThanOrEqual(30);
      expect((await checkout(off, key)).status).toBe(409); // no early takeover
      expect((await running).status).toBe(201);
      await off.stop();
    },
  );

  it('once lost is lost: a stopped owner changes nothing when it wakes, and answers with the stored reply [C-5, C-6]', async () => {
    const owner = await spawnApi(options);
    const key = randomUUID();
    await provider.fault('delay', { times: 1, delayMs: 1_500 });
    const slow = checkout(owner, key);
    await until(async () => (await row(key))?.recovery_point === 'order_created');
    process.kill(owner.pid, 'SIGSTOP');
    await until(async () =>
      (await provider.ledger()).charges.some(({ metadata }) => metadata['charge_id'] !== undefined),
    );
    await leaseEnds(key);
    const taker = await untilNot409(() => checkout(api, key));
    expect(taker.status).toBe(201);
    const finished = await row(key);
    process.kill(owner.pid, 'SIGCONT');
    const woken = await slow;
    expect(woken.status).toBe(201);
    expect(woken.text).toBe(taker.text);
    expect(woken.headers.get('idempotent-replayed')).toBe('true');
    expect(await row(key)).toEqual(finished);
    expect(await chargesOf(taker)).toHaveLength(1);
    await owner.stop();
  });

  async function untilNot409(attempt: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const answer = await attempt();
      if (answer.status !== 409) return answer;
      await sleep(100);
    }
  }
});

interface KeyColumns {
  readonly recovery_point: string;
  readonly version: number;
  readonly attempts: number;
  readonly locked_until: Date;
  readonly live: boolean;
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Node options under which `Date` is wrong. */
function clockOffBy(minutes: number): string {
  const code = `const D=Date;globalThis.Date=class extends D{constructor(...a){a.length?super(...a):super(D.now()+${minutes * 60_000})}static now(){return D.now()+${minutes * 60_000}}}`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}
