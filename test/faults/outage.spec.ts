import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Completer } from '../../src/idempotency/completer.js';
import { checkoutBody, get, post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { Forwarder } from '../support/forwarder.js';
import { freePort } from '../support/free-port.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { startApi, type StartedApi } from '../support/start-api.js';

let db: TestDatabase;
let provider: MockProvider;
/** Between the service and the provider. */
let way: Forwarder;
let api: StartedApi | undefined;

beforeAll(async () => {
  [db, provider] = await Promise.all([createTestDatabase(), startMockProvider()]);
  const { hostname: host, port } = new URL(provider.url);
  way = new Forwarder(await freePort(), { host, port: Number(port) });
  await way.start();
});
afterEach(async () => {
  await api?.stop();
  api = undefined;
  way.silent = false;
});
afterAll(async () => {
  await way.stop();
  await provider.stop();
  await db.drop();
});

/** @param openSeconds how long it leaves a provider alone that is away */
async function open(openSeconds: number, settings: Record<string, string> = {}): Promise<void> {
  const options = { databaseUrl: db.url, providerUrl: `http://127.0.0.1:${way.port}`, ROLE: 'api' };
  const breaker = { PROVIDER_BREAKER_FAILURES: '4', PROVIDER_BREAKER_SECONDS: String(openSeconds) };
  api = await startApi({ ...options, ...breaker, ...settings }, [{ module: RecoveryParts }]);
}

const checkout = (key: string = randomUUID()) => post(`${api!.url}/v1/checkouts`, checkoutBody(), { key });
const chargeOf = async (key: string) =>
  (await get(`${api!.url}/v1/idempotency-keys?key=${key}`)).body.charge as { status: string };
const keys = (count: number) => Array.from({ length: count }, () => randomUUID());

/** Each key is paid, by one charge, and nobody had to be asked. */
async function expectPaidOnceEach(expected: readonly string[]): Promise<void> {
  const { charges } = await provider.ledger();
  for (const key of expected) {
    const { status, body } = await checkout(key);
    expect([status, body.order.status]).toEqual([201, 'paid']);
    expect(charges.filter(({ metadata }) => metadata['order_id'] === body.order.id)).toHaveLength(1);
  }
  expect(await db.sql('SELECT reason FROM reviews')).toEqual([]);
}

const HASTY = { IDEMPOTENCY_LEASE_SECONDS: '3', PROVIDER_TIMEOUT_SECONDS: '0.3' };

describe.each([
  ['never answers', () => Promise.resolve((way.silent = true)), () => Promise.resolve((way.silent = false))],
  ['refuses connections', () => way.stop(), () => way.start()],
])('A provider that %s', (_name, fail, heal) => {
  it('costs a quick 503 with Retry-After, and nothing is sent to it', async () => {
    await open(60, HASTY);
    await fail();
    for (const key of keys(4)) expect((await checkout(key)).status).toBe(503);
    const before = way.arrivals;
    const took: number[] = [];
    for (const key of keys(8)) {
      const start = performance.now();
      const answer = await checkout(key);
      took.push(performance.now() - start);
      expect([answer.status, answer.body.code]).toEqual([503, 'provider_unavailable']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(30);
      expect(await chargeOf(key)).toMatchObject({ status: 'pending' });
    }
    expect(way.arrivals).toBe(before);
    expect(Math.min(...took)).toBeLessThan(100); // a machine under load may be slow, but not eight times in a row
    await heal();
  });

  it('is asked again by and by: when it is back everything is finished, with one charge each', async () => {
    await open(1, HASTY);
    await fail();
    const begun = keys(10);
    for (const key of begun) expect((await checkout(key)).status).toBe(503);
    await heal();
    const completer = api!.app.get(Completer);
    for (let round = 0; (await unfinished(begun)) > 0; round++) {
      expect(round).toBeLessThan(100);
      await db.sql("UPDATE idempotency_keys SET next_run_at = now() WHERE status = 'in_progress'");
      await completer.runOnce();
      await sleep(100);
    }
    await expectPaidOnceEach(begun);
  });

  const unfinished = async (begun: readonly string[]) =>
    (await db.sql("SELECT 1 FROM idempotency_keys WHERE key = ANY ($1) AND status <> 'finished'", [begun]))
      .length;
});

describe('A charge that nobody knows the outcome of', () => {
  it('stays unknown while the provider is left alone, however often it is asked for; no such try counts', async () => {
    await open(60, HASTY);
    const key = randomUUID();
    await provider.fault('delay', { times: 1, delayMs: 500 });
    way.silent = false;
    const first = checkout(key);
    await made(key);
    way.silent = true; // the charge is made; its answer, the second call's and the look-up's are lost
    expect((await first).body.code).toBe('outcome_unknown');
    for (const other of keys(2)) await checkout(other);

    const before = way.arrivals;
    const retry = await checkout(key);
    expect([retry.status, retry.body.code]).toEqual([503, 'outcome_unknown']);
    for (let round = 1; round <= 3; round++) {
      await db.sql('UPDATE idempotency_keys SET next_run_at = now() WHERE key = $1', [key]);
      expect(await api!.app.get(Completer).runOnce()).toMatchObject({ putOff: 1, inReview: 0 });
    }
    const [row] = await db.sql(
      'SELECT status, in_doubt, completer_tries, doubtful_tries FROM idempotency_keys WHERE key = $1',
      [key],
    );
    expect(row).toEqual({ status: 'in_progress', in_doubt: true, completer_tries: 3, doubtful_tries: 0 });
    expect(await chargeOf(key)).toMatchObject({ status: 'unknown' });
    expect(way.arrivals).toBe(before);

    way.silent = false;
    await api!.stop();
    await open(60);
    await expectPaidOnceEach([key]);
  });

  async function made(key: string): Promise<void> {
    for (;;) {
      const [row] = await db.sql<{ id: string }>('SELECT id FROM idempotency_keys WHERE key = $1', [key]);
      const { charges } = await provider.ledger();
      if (row && charges.some(({ idempotencyKey }) => idempotencyKey === `test:${row.id}:charge`)) return;
      await sleep(10);
    }
  }
});

describe('Calls that take very long', () => {
  it('hold up no other key, and do not make the provider count as away', async () => {
    await open(60, { DATABASE_POOL_SIZE: '2', PROVIDER_BREAKER_FAILURES: '2' });
    const { length: before } = (await provider.ledger()).charges;
    await provider.fault('delay', { times: 5, delayMs: 6_000 });
    let slowOnesDone = 0;
    const slow = keys(5).map((key) => checkout(key).finally(() => (slowOnesDone += 1)));
    while ((await provider.ledger()).charges.length < before + 5) await sleep(10);
    for (const key of keys(40)) expect((await checkout(key)).status).toBe(201);
    expect(slowOnesDone).toBe(0);
    for (const { status } of await Promise.all(slow)) expect(status).toBe(201);
  });
});
