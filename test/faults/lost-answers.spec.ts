import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { checkoutBody, post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { ACME, spawnApi, type ApiOptions, type SpawnedApi } from '../support/start-api.js';
import { thoroughly } from '../support/thoroughly.js';

/** Every place where the answer, or the process that knows it, can be lost, and what the client then sees first. */
const CRASHES = [
  ['phase.before_commit:order_created', 'nothing has happened'],
  ['phase.after_commit:order_created', 'the order is there'],
  ['call.before:charge', 'the request is frozen'],
  ['call.after:charge', 'the charge is made'],
  ['phase.before_commit:finished', 'the charge is made, nothing of it is written'],
  ['phase.after_commit:finished', 'everything is done'],
  ['reply.before_send', 'everything is done'],
] as const;

const INNER = [
  ['phase.before_commit:charge_created', 'the outcome is not yet written'],
  ['phase.after_commit:charge_created', 'the outcome is written, the order is not paid'],
] as const;

/** Before anything, after the charge, after everything: elsewhere it is much the same. */
const FOREMOST = [CRASHES[0], CRASHES[3], CRASHES[5]];

describe.each([
  ['phases joined', 'false', thoroughly ? CRASHES : FOREMOST],
  ['every phase committed', 'true', thoroughly ? [...CRASHES, ...INNER] : INNER],
] as const)('With %s, a checkout', (_name, commitEveryPhase, crashes) => {
  let db: TestDatabase;
  let provider: MockProvider;
  let options: ApiOptions;
  let api: SpawnedApi;

  beforeAll(async () => {
    [db, provider] = await Promise.all([createTestDatabase(), startMockProvider()]);
    options = {
      databaseUrl: db.url,
      providerUrl: provider.url,
      ROLE: 'api',
      FAULTS: 'on',
      COMMIT_EVERY_PHASE: commitEveryPhase,
    };
    api = await spawnApi(options);
  });
  afterAll(async () => {
    await api.stop();
    await provider.stop();
    await db.drop();
  });

  /** Time moves by back-dating: the leases of dead owners are over. */
  const leasesEnd = () =>
    db.sql("UPDATE idempotency_keys SET locked_until = now() - interval '1 s' WHERE status = 'in_progress'");

  async function expectChargedOnce(key: string): Promise<void> {
    await leasesEnd();
    const answer = await post(`${api.url}/v1/checkouts`, checkoutBody(), { key });
    expect(answer.status).toBe(201);
    expect(answer.body.order.status).toBe('paid');
    const { id } = answer.body.order;
    const { charges } = await provider.ledger();
    expect(charges.filter(({ metadata }) => metadata['order_id'] === id)).toHaveLength(1);
    const again = await post(`${api.url}/v1/checkouts`, checkoutBody(), { key });
    expect(again.text).toBe(answer.text);
    const [counts] = await db.sql(
      `SELECT (SELECT count(*)::int FROM charges WHERE order_id = $1) AS charges,
              (SELECT count(*)::int FROM ledger_entries WHERE subject = $1) AS ledger,
              (SELECT count(*)::int FROM outbox_messages WHERE ordering_key = $1) AS outbox`,
      [id],
    );
    expect(counts).toEqual({ charges: 1, ledger: 1, outbox: 1 });
  }

  /** No order and no charge is left over that no key accounts for. */
  async function expectNoOrphans(): Promise<void> {
    const [orphans] = await db.sql<{ unpaid: number }>(
      "SELECT count(*)::int AS unpaid FROM orders WHERE status <> 'paid'",
    );
    expect(orphans).toEqual({ unpaid: 0 });
    const { charges } = await provider.ledger();
    const [paid] = await db.sql<{ count: number }>("SELECT count(*)::int FROM orders WHERE status = 'paid'");
    expect(charges).toHaveLength(paid!.count);
  }

  it.each(crashes)('survives kill -9 at %s: %s [Q-2]', async (point) => {
    const key = randomUUID();
    const attempt = post(`${api.url}/v1/checkouts`, checkoutBody(), {
      key,
      headers: { 'sandbox-fault': `${point}=crash` },
    });
    await expect(attempt).rejects.toThrow();
    expect(await api.kill('SIGKILL')).toBeNull();
    api = await spawnApi(options);
    await expectChargedOnce(key);
    await expectNoOrphans();
  });

  it.each(crashes)('survives an error at %s: %s', async (point) => {
    const key = randomUUID();
    const headers = { 'sandbox-fault': `${point}=throw` };
    const broken = await post(`${api.url}/v1/checkouts`, checkoutBody(), { key, headers });
    // Where phases are joined, one that fails is run again alone; what is stored already is replayed.
    expect([201, 500]).toContain(broken.status);
    await expectChargedOnce(key);
    await expectNoOrphans();
  });

  it.each(crashes.filter(([point]) => point.startsWith('phase.before_commit')))(
    'survives a COMMIT whose answer is lost at %s [C-4]',
    async (point) => {
      const key = randomUUID();
      const headers = { 'sandbox-fault': `${point}=lose_commit_answer` };
      const answer = await post(`${api.url}/v1/checkouts`, checkoutBody(), { key, headers });
      expect(answer.status).toBe(201);
      await expectChargedOnce(key);
      await expectNoOrphans();
    },
  );

  it.each(crashes)('survives the loss of its database connection at %s', async (point) => {
    const key = randomUUID();
    const headers = { 'sandbox-fault': `${point}=drop_db` };
    const answer = await post(`${api.url}/v1/checkouts`, checkoutBody(), { key, headers });
    expect([201, 503]).toContain(answer.status);
    await expectChargedOnce(key);
    await expectNoOrphans();
  });

  it('goes on when its client hangs up, and the retry gets the result [C-10]', async () => {
    const key = randomUUID();
    await provider.fault('delay', { times: 1, delayMs: 300 });
    await hangUpAfterSending(`${api.url}/v1/checkouts`, key);
    const [row] = await eventually(() =>
      db.sql<{ version: number }>(
        "SELECT version FROM idempotency_keys WHERE key = $1 AND status = 'finished'",
        [key],
      ),
    );
    expect(row).toBeDefined();
    await expectChargedOnce(key);
  });

  it('whose reply is lost after everything is done is replayed', async () => {
    const key = randomUUID();
    const headers = { 'sandbox-fault': 'reply.before_send=lose_reply' };
    await expect(post(`${api.url}/v1/checkouts`, checkoutBody(), { key, headers })).rejects.toThrow();
    const replay = await post(`${api.url}/v1/checkouts`, checkoutBody(), { key });
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    await expectChargedOnce(key);
  });

  it('whose sending fails after everything is done is answered with what is stored', async () => {
    const key = randomUUID();
    const headers = { 'sandbox-fault': 'reply.before_send=throw' };
    const answer = await post(`${api.url}/v1/checkouts`, checkoutBody(), { key, headers });
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    await expectChargedOnce(key);
  });
});

/** Sends a whole request and destroys the socket once it is written. */
function hangUpAfterSending(url: string, key: string): Promise<void> {
  return new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${ACME.key}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    };
    const request = httpRequest(url, { method: 'POST', headers });
    request.on('error', () => resolve());
    request.end(JSON.stringify(checkoutBody()), () =>
      setTimeout(() => request.destroy(new Error('hang up')), 100),
    );
  });
}

async function eventually<T>(read: () => Promise<T[]>): Promise<T[]> {
  for (let tries = 0; tries < 200; tries++) {
    const rows = await read();
    if (rows.length > 0) return rows;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return [];
}
