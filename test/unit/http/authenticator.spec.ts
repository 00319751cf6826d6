import type { Config } from '../../../src/config/config.js';
import { SANDBOX_SECRET } from '../../../src/config/published.js';
import type { Statement } from '../../../src/database/statement.js';
import { Database } from '../../../src/database/transaction.js';
import { ApiKeyAuthenticator } from '../../../src/tenancy/api-key-authenticator.js';
import { addApiKey, addTenant } from '../../../src/tenancy/api-keys.js';
import { RecentAnswers } from '../../../src/tenancy/recent-answers.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

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
  beforeAll(async () => {
    db = await createTestDatabase();
    await addTenant(db.database, { id: 'acme', name: 'Acme' });
    await addApiKey(db.database, 'acme', 'ck_test_acme', SANDBOX_SECRET);
  });
  beforeEach(() => {
    database = new CountedDatabase(db.database.dataSource);
    authenticator = new ApiKeyAuthenticator({ hashSecret: SANDBOX_SECRET } as Config, database);
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
