import type { Config } from '../../../src/config/config.js';
import { SANDBOX_SECRET } from '../../../src/config/published.js';
import type { Statement } from '../../../src/database/statement.js';
import { Database } from '../../../src/database/transaction.js';
import { ApiKeyAuthenticator } from '../../../src/tenancy/api-key-authenticator.js';
import { addApiKey, addTenant, hashApiKey } from '../../../src/tenancy/api-keys.js';
import { KeyUses } from '../../../src/tenancy/key-uses.js';
import { prefixOf } from '../../../src/tenancy/new-api-key.js';
import { RecentAnswers } from '../../../src/tenancy/recent-answers.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

const { jest } = import.meta;

/** The real thing, with a tally. */
class CountedDatabase extends Database {
  queries = 0;

  override query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]> {
    this.queries++;
    return super.query(statement, values);
  }
}

describe('Looking an API key up', () => {
  let db: TestDatabase;
  let database: CountedDatabase;
  let authenticator: ApiKeyAuthenticator;
  let uses: KeyUses;
  beforeAll(async () => {
    db = await createTestDatabase();
    await addTenant(db.database, { id: 'acme', name: 'Acme' });
    await addApiKey(db.database, 'acme', 'ck_test_acme', SANDBOX_SECRET);
  });
  beforeEach(() => {
    database = new CountedDatabase(db.database.dataSource);
    uses = new KeyUses(database);
    authenticator = new ApiKeyAuthenticator({ hashSecret: SANDBOX_SECRET } as Config, database, uses);
  });
  afterAll(() => db.drop());

  it('asks the database once for a key that many requests bring at once', async () => {
    const tenants = await Promise.all(
      Array.from({ length: 50 }, () => authenticator.tenantOf('ck_test_acme')),
    );
    expect(tenants).toEqual(Array.from({ length: 50 }, () => ({ id: 'acme' })));
    await authenticator.tenantOf('ck_test_acme');
    expect(database.queries).toBe(1);
  });

  it('asks the database once for an unknown key that is tried again and again', async () => {
    for (let i = 0; i < 50; i++) expect(await authenticator.tenantOf('ck_test_nobody')).toBeUndefined();
    expect(database.queries).toBe(1);
  });

  it('still remembers a known key after a flood of unknown ones', async () => {
    const clock = stopClock(); // the flood takes no time
    await authenticator.tenantOf('ck_test_acme');
    for (let wave = 0; wave < 15; wave++) {
      await Promise.all(
        Array.from({ length: 100 }, (_, i) => authenticator.tenantOf(`ck_test_${wave}_${i}`)),
      );
    }
    const before = database.queries;
    await authenticator.tenantOf('ck_test_acme');
    clock.goOn();
    expect(database.queries).toBe(before);
  });

  it('refuses the published keys of the demo tenants in production, though their rows are there', async () => {
    await addTenant(db.database, { id: 'globex', name: 'Globex' });
    await addApiKey(db.database, 'globex', 'ck_test_globex', SANDBOX_SECRET);
    await addApiKey(db.database, 'acme', 'ck_live_of_acme_alone', SANDBOX_SECRET);
    const inProduction = new ApiKeyAuthenticator(
      { hashSecret: SANDBOX_SECRET, production: true } as Config,
      database,
      uses,
    );
    for (const key of ['ck_test_acme', 'ck_test_globex'])
      expect([await authenticator.tenantOf(key), await inProduction.tenantOf(key)]).toEqual([
        { id: key.replace('ck_test_', '') },
        undefined,
      ]);
    expect(await inProduction.tenantOf('ck_live_of_acme_alone')).toEqual({ id: 'acme' });
  });

  it('does not remember that the database could not answer', async () => {
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const query = database.query.bind(database);
    database.query = () => Promise.reject(refused);
    await expect(authenticator.tenantOf('ck_test_acme')).rejects.toBe(refused);
    database.query = query;
    expect(await authenticator.tenantOf('ck_test_acme')).toEqual({ id: 'acme' });
  });
});

describe('When a key was last used', () => {
  let db: TestDatabase;
  let database: CountedDatabase;
  let uses: KeyUses;
  let authenticator: ApiKeyAuthenticator;
  const KEYS = ['ck_test_one', 'ck_test_two'];
  beforeAll(async () => {
    db = await createTestDatabase();
    await addTenant(db.database, { id: 'acme', name: 'Acme' });
    for (const key of [...KEYS, 'ck_test_idle']) await addApiKey(db.database, 'acme', key, SANDBOX_SECRET);
  });
  beforeEach(async () => {
    await db.sql('UPDATE api_keys SET last_used_at = NULL');
    database = new CountedDatabase(db.database.dataSource);
    uses = new KeyUses(database);
    authenticator = new ApiKeyAuthenticator({ hashSecret: SANDBOX_SECRET } as Config, database, uses);
    for (let i = 0; i < 100; i++) await Promise.all(KEYS.map((key) => authenticator.tenantOf(key)));
  });
  afterEach(() => uses.onApplicationShutdown());
  afterAll(() => db.drop());

  const used = async () =>
    (
      await db.sql<{ count: number }>(
        "SELECT count(*)::int FROM api_keys WHERE last_used_at > now() - interval '1 minute'",
      )
    )[0]!.count;

  it('is not written by the requests that use it, and of many uses once, all keys in one statement', async () => {
    expect([database.queries, await used()]).toEqual([KEYS.length, 0]); // the two look-ups
    await uses.write();
    expect([database.queries, await used()]).toEqual([KEYS.length + 1, KEYS.length]);
    await uses.write(); // nothing was used since
    expect(database.queries).toBe(KEYS.length + 1);
  });

  it('is written once a minute by itself', async () => {
    jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate'] });
    const another = new KeyUses(database);
    const before = database.queries;
    for (let i = 0; i < 10; i++) another.note(hashApiKey(KEYS[0]!, SANDBOX_SECRET).toString('base64'));
    jest.advanceTimersByTime(59_000);
    expect(database.queries).toBe(before);
    jest.advanceTimersByTime(2_000);
    expect(database.queries).toBe(before + 1);
    jest.useRealTimers();
  });

  it('is left alone where another process has just written it', async () => {
    await uses.write();
    const [{ xmin }] = (await db.sql('SELECT xmin FROM api_keys WHERE last_used_at IS NOT NULL')) as [
      { xmin: string },
    ];
    await authenticator.tenantOf(KEYS[0]!);
    await uses.write();
    expect(await db.sql('SELECT DISTINCT xmin FROM api_keys WHERE last_used_at IS NOT NULL')).toEqual([
      { xmin },
    ]);
  });

  it('troubles nobody where it cannot be written, and is written later', async () => {
    const query = database.query.bind(database);
    database.query = () => Promise.reject(new Error('no database'));
    await uses.write();
    expect(await authenticator.tenantOf(KEYS[0]!)).toEqual({ id: 'acme' });
    database.query = query;
    await uses.write();
    expect(await used()).toBe(KEYS.length);
  });

  it('is written when the process ends, which does not wait for long', async () => {
    await uses.onApplicationShutdown();
    expect(await used()).toBe(KEYS.length);
    await authenticator.tenantOf(KEYS[0]!);
    database.query = () => new Promise(() => undefined);
    await uses.onApplicationShutdown(); // or the test never ends
  });
});

describe('The prefix of a key', () => {
  it('shows six characters of a key that was made here, and of another none but its kind', () => {
    const key = `ck_live_${'abc234'.repeat(7).slice(0, 40)}`;
    expect(prefixOf(key)).toBe('ck_live_abc234');
    for (const other of ['ck_test_acme', `${key}x`, key.slice(0, -1)])
      expect(prefixOf(other)).toBe(other.slice(0, 8));
  });
});

describe('What is remembered', () => {
  it('is forgotten when it is old, counted from when it was true', () => {
    const answers = new RecentAnswers<number>(1_000, 10);
    answers.add('fresh', 1, performance.now() - 900);
    answers.add('old', 2, performance.now() - 1_000);
    expect([answers.get('fresh'), answers.get('old')]).toEqual([1, undefined]);
  });

  it('never grows past its bound; the oldest go first', () => {
    const answers = new RecentAnswers<number>(1_000, 2);
    for (const name of ['a', 'b', 'a', 'c']) answers.add(name, 1, performance.now());
    expect([answers.get('a'), answers.get('b'), answers.get('c')]).toEqual([1, undefined, 1]);
  });
});

function stopClock(): { goOn(): void } {
  const now = performance.now();
  performance.now = () => now;
  return { goOn: () => void delete (performance as { now?: unknown }).now }; // what is inherited shows again
}
