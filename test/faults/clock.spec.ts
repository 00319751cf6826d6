import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Reaper } from '../../src/background/reaper.js';
import { checkoutBody, post, type Answer } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { clocksMove, MovableClock } from '../support/movable-clock.js';
import { startOwnPostgres, type OwnPostgres } from '../support/own-postgres.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { spawnApi, startApi, type ApiOptions, type StartedApi } from '../support/start-api.js';

const LEASE = 6;
const RETENTION_HOURS = 72;

/** Its clock moves while it runs, as after a switch to a standby, or a correction by NTP. Ours does not. */
(clocksMove ? describe : describe.skip)("The database's clock (needs libfaketime)", () => {
  let clock: MovableClock;
  let postgres: OwnPostgres;
  let db: TestDatabase;
  let provider: MockProvider;
  let options: ApiOptions;
  let api: StartedApi;

  beforeAll(async () => {
    clock = new MovableClock();
    postgres = await startOwnPostgres({ env: clock.env });
    [db, provider] = await Promise.all([createTestDatabase({ at: postgres.url }), startMockProvider()]);
    options = {
      databaseUrl: db.url,
      providerUrl: provider.url,
      ROLE: 'api',
      IDEMPOTENCY_LEASE_SECONDS: String(LEASE),
      IDEMPOTENCY_RETENTION_HOURS: String(RETENTION_HOURS),
    };
    api = await startApi(options, [{ module: RecoveryParts }]);
  });
  afterEach(() => clock.set(0));
  afterAll(async () => {
    await api.stop();
    await provider.stop();
    await db.drop();
    await postgres.stop();
    clock.remove();
  });

  const checkout = (key: string, url = api.url, headers: Record<string, string> = {}) =>
    post(`${url}/v1/checkouts`, checkoutBody(), { key, headers });

  interface KeyColumns {
    readonly version: number;
    readonly attempts: number;
    /** Seconds. */
    readonly lease: number | null;
  }

  const keyRow = async (key: string) =>
    (
      await db.sql<KeyColumns>(
        `SELECT version, attempts, extract(epoch FROM locked_until - now())::float8 AS lease
           FROM idempotency_keys WHERE key = $1`,
        [key],
      )
    )[0]!;
  const chargesOf = async ({ body }: Answer) =>
    (await provider.ledger()).charges.filter(({ metadata }) => metadata['order_id'] === body.order.id);

  /** A checkout whose provider has charged, and does not answer before `delayMs`. */
  async function inTheCall(key: string, delayMs: number): Promise<{ owner: Promise<Answer> }> {
    const made = (await provider.ledger()).charges.length;
    await provider.fault('delay', { delayMs });
    const owner = checkout(key);
    while ((await provider.ledger()).charges.length === made) await sleep(5);
    return { owner };
  }

  it('is moved by these tests', async () => {
    for (const seconds of [-10, 3_600]) {
      clock.set(seconds);
      const [{ ahead }] = (await db.sql<{ ahead: number }>(
        'SELECT extract(epoch FROM clock_timestamp())::float8 - $1::float8 / 1000 AS ahead',
        [Date.now()],
      )) as [{ ahead: number }];
      expect(Math.abs(ahead - seconds)).toBeLessThan(5);
    }
  });

  it('steps back while an owner works: nobody else runs the key, and it is finished', async () => {
    const key = randomUUID();
    const { owner } = await inTheCall(key, 1_500);
    const before = await keyRow(key);
    clock.set(-10);
    const other = await checkout(key);
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_key_in_use']);
    const answer = await owner;
    expect(answer.status).toBe(201);
    const after = await keyRow(key);
    expect(after.version).toBeGreaterThan(before.version);
    expect(after.attempts).toBe(1);
    expect((await checkout(key)).text).toBe(answer.text);
    expect(await chargesOf(answer)).toMatchObject([{ calls: 1 }]);
  });

  it('steps back after the owner has died: its lease ends, that much later, and the fence only rises', async () => {
    const key = randomUUID();
    const doomed = await spawnApi({ ...options, FAULTS: 'on' });
    const headers = { 'sandbox-fault': 'call.after:charge=crash' };
    await expect(checkout(key, doomed.url, headers)).rejects.toThrow();
    const before = await keyRow(key);
    clock.set(-10);
    const early = await checkout(key);
    expect(early.status).toBe(409);
    const { lease } = await keyRow(key);
    expect(lease).toBeGreaterThan(0);
    expect(lease).toBeLessThanOrEqual(LEASE + 10);
    expect(Number(early.headers.get('retry-after'))).toBeLessThanOrEqual(LEASE + 10);
    clock.set(-10 + lease! + 1);
    const answer = await checkout(key);
    expect(answer.status).toBe(201);
    const after = await keyRow(key);
    expect(after.version).toBeGreaterThan(before.version);
    expect(after.attempts).toBe(2);
    expect(await chargesOf(answer)).toMatchObject([{ calls: 2 }]);
  });

  it('jumps ahead while an owner works: its lease is over and another runs the key, to one charge and one reply', async () => {
    const key = randomUUID();
    const { owner } = await inTheCall(key, 1_500);
    clock.set(3_600);
    const told = await Promise.all([untilFinal(key), owner]);
    const [answer, first] = told;
    expect(answer.status).toBe(201);
    if (first.status === 201) expect(first.text).toBe(answer.text);
    else expect(first.headers.get('should-retry')).toBe('true');
    expect((await keyRow(key)).attempts).toBeGreaterThan(1);
    expect(await chargesOf(answer)).toHaveLength(1);
  });

  it('jumps past the retention: the key is still replayed, and the reaper takes nothing that is young', async () => {
    const key = randomUUID();
    const answer = await checkout(key);
    await db.sql('UPDATE outbox_messages SET sent_at = now(), due_at = NULL');
    clock.set((RETENTION_HOURS + 1) * 3_600 * 10);
    const again = await checkout(key);
    expect([again.headers.get('idempotent-replayed'), again.text]).toEqual(['true', answer.text]);
    expect(await api.app.get(Reaper, { strict: false }).runOnce()).toEqual({ keys: 0, outbox: 0, inbox: 0 });
    clock.set(0);
    expect((await checkout(key)).text).toBe(answer.text);
    await db.sql("UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1", [key]);
    expect(await api.app.get(Reaper, { strict: false }).runOnce()).toEqual({ keys: 1, outbox: 0, inbox: 0 });
  });

  async function untilFinal(key: string): Promise<Answer> {
    for (;;) {
      const answer = await checkout(key);
      if (answer.headers.get('should-retry') !== 'true') return answer;
      await sleep(50);
    }
  }
});
