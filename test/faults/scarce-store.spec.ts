import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { checkoutBody, post, type Answer } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { startOwnPostgres, type OwnPostgres } from '../support/own-postgres.js';
import { startApi, untilReady, type StartedApi } from '../support/start-api.js';

const CONNECTIONS = 24;

let postgres: OwnPostgres;
let db: TestDatabase;
let provider: MockProvider;
let api: StartedApi;
beforeAll(async () => {
  const settings = {
    max_connections: String(CONNECTIONS),
    superuser_reserved_connections: '0',
    max_locks_per_transaction: '10',
  };
  [postgres, provider] = await Promise.all([startOwnPostgres({ settings }), startMockProvider()]);
  db = await createTestDatabase({ at: postgres.url, poolSize: 2 });
  api = await startApi({
    databaseUrl: db.url,
    providerUrl: provider.url,
    ROLE: 'api',
    DATABASE_POOL_SIZE: '5',
  });
});
afterAll(async () => {
  await api.stop();
  await provider.stop();
  await db.drop();
  await postgres.stop();
});

const checkout = (key: string) => post(`${api.url}/v1/checkouts`, checkoutBody(), { key });

async function session(url = db.url): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

function expectUnavailable({ status, body, headers }: Answer): void {
  expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'store_unavailable', '1']);
}

/** Time moves by back-dating: the leases of attempts that could not even let go are over. */
const leasesEnd = () =>
  db.sql("UPDATE idempotency_keys SET locked_until = now() - interval '1 s' WHERE status = 'in_progress'");

/** The same keys, without a restart: each is one paid order, and the provider has no other charge. */
async function expectAllPaidOnce(keys: readonly string[]): Promise<void> {
  await leasesEnd();
  const orders = new Set<string>();
  for (const key of keys) {
    const answer = await checkout(key);
    expect([answer.status, answer.body.order?.status]).toEqual([201, 'paid']);
    orders.add(answer.body.order.id as string);
  }
  const { charges } = await provider.ledger();
  const of = charges.map(({ metadata }) => metadata['order_id']!).filter((order) => orders.has(order));
  expect(of.sort()).toEqual([...orders].sort());
  const unpaid = await db.sql("SELECT 1 FROM orders WHERE status <> 'paid'");
  expect([charges.length, unpaid]).toEqual([(await db.sql('SELECT 1 FROM orders')).length, []]);
}

describe('A server without a free connection', () => {
  it('costs 503 with Retry-After and nothing is charged; once there are some, the same keys work', async () => {
    const keys = Array.from({ length: 10 }, () => randomUUID());
    const before = (await provider.ledger()).charges.length;
    const { hold, letGo } = await allConnections();
    await hold();
    for (const key of keys) expectUnavailable(await checkout(key));
    expect((await fetch(`${api.url}/health/live`)).status).toBe(200);
    expect((await fetch(`${api.url}/health/ready`)).status).toBe(503);
    expect((await provider.ledger()).charges).toHaveLength(before);
    await letGo();
    await untilReady(api.url);
    await expectAllPaidOnce(keys);
  });

  /** Ends the sessions of the service, and takes every connection that there is before it can. */
  async function allConnections() {
    const others: pg.Client[] = [await session(postgres.url)];
    const end = () =>
      others[0]!.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()',
        [new URL(db.url).pathname.slice(1)],
      );
    const hold = async () => {
      await end();
      for (let refused = false; !refused;)
        await session(postgres.url).then(
          (client) => others.push(client),
          ({ code }: pg.DatabaseError) => (refused = code === '53300'),
        );
    };
    return { hold, letGo: () => Promise.all(others.map((client) => client.end())) };
  }
});

describe('A server without room for another lock', () => {
  /** The table of locks is of a fixed size, and these stay in it. */
  async function takeAllLocks(): Promise<pg.Client> {
    const client = await session();
    const taking = client.query('SELECT pg_advisory_lock(n) FROM generate_series(1, 100000) AS n');
    await expect(taking).rejects.toMatchObject({ code: '53200' });
    return client;
  }

  it('costs 503 with Retry-After and nothing is charged; once there is some, the same keys work', async () => {
    const keys = Array.from({ length: 10 }, () => randomUUID());
    const before = (await provider.ledger()).charges.length;
    const others = await takeAllLocks();
    for (const key of keys) expectUnavailable(await checkout(key));
    expect((await provider.ledger()).charges).toHaveLength(before);
    await others.end();
    await expectAllPaidOnce(keys);
  });

  it('after the charge is no success to anybody; the retry finds that charge', async () => {
    const key = randomUUID();
    const before = (await provider.ledger()).charges.length;
    await provider.fault('delay', { delayMs: 1_000 });
    const asked = checkout(key);
    while ((await provider.ledger()).charges.length === before) await sleep(5);
    const others = await takeAllLocks();
    expectUnavailable(await asked);
    await others.end();
    await expectAllPaidOnce([key]);
  });
});

/** A file system of its own, where the machine lets us have one. */
function mountSmallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'checkout-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder], { stdio: 'ignore' });
    return folder;
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
}

const disk = mountSmallDisk();
afterAll(() => {
  if (disk === undefined) return;
  execFileSync('umount', [disk]);
  rmSync(disk, { recursive: true });
});

(disk ? describe : describe.skip)('A full disk (needs leave to mount one)', () => {
  beforeAll(async () => {
    const [{ path }] = (await db.sql<{ path: string }>(
      "SELECT current_setting('data_directory') AS path",
    )) as [{ path: string }];
    const { uid, gid } = statSync(path);
    chownSync(disk!, uid, gid);
    await db.sql(`CREATE TABLESPACE small LOCATION '${disk}'`);
  });

  it.each([
    ['orders', 'before the charge'],
    ['ledger_entries', 'after the charge'],
  ])(
    'where the %s are costs 503 with Retry-After, %s; once there is room, each key is paid and charged once',
    async (table) => {
      await db.sql(`ALTER TABLE ${table} SET TABLESPACE small`);
      await fill();
      const keys: string[] = [];
      const refused: Answer[] = [];
      while (refused.length < 5) {
        keys.push(randomUUID());
        const answer = await checkout(keys.at(-1)!);
        if (answer.status !== 201) refused.push(answer);
        expect(keys.length).toBeLessThan(300);
      }
      refused.forEach(expectUnavailable);
      await db.sql('DROP TABLE filler');
      await expectAllPaidOnce(keys);
      await db.sql(`ALTER TABLE ${table} SET TABLESPACE pg_default`);
    },
  );

  /** The pages of a table that are there already have room for some more rows. */
  async function fill(): Promise<void> {
    await db.sql(
      'CREATE TABLE filler (page text STORAGE PLAIN) WITH (autovacuum_enabled = off) TABLESPACE small',
    );
    const filling = db.sql("INSERT INTO filler SELECT repeat('x', 8000) FROM generate_series(1, 2000)");
    await expect(filling).rejects.toMatchObject({ code: '53100' });
  }
});
