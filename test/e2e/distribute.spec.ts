import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { QueryRunner } from 'typeorm';
import { StatisticsFromTheStart1764510000000 } from '../../migrations/1764510000000-statistics-from-the-start.js';
import { TENANT_TABLES } from '../../src/database/distribution.js';
import { checkoutBody, post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startMockProvider } from '../support/mock-provider.js';
import { ACME, GLOBEX, startApi } from '../support/start-api.js';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * What a table has that a statement, an error or a person could notice, whether or not it has partitions. An empty one
 * has no rows that a constraint was not checked against.
 */
const FURNISHING = `
  SELECT concat_ws(' ', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
                   pg_get_expr(adbin, adrelid), col_description(attrelid, attnum), obj_description(attrelid, 'pg_class')) AS line
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
   WHERE attrelid = ANY ($1::regclass[]) AND attnum > 0 AND NOT attisdropped
   UNION ALL
  SELECT concat_ws(' ', conrelid::regclass, conname, replace(pg_get_constraintdef(oid), ' NOT VALID', '')) FROM pg_constraint
   WHERE conrelid = ANY ($1::regclass[]) AND (contype <> 'f' OR conparentid = 0) AND NOT (contype = 'f' AND conname ~ '_fkey_?\\d+$')
   UNION ALL
  SELECT concat_ws(' ', polrelid::regclass, polname, pg_get_expr(polqual, polrelid), relrowsecurity) FROM pg_policy
    JOIN pg_class ON pg_class.oid = polrelid WHERE polrelid = ANY ($1::regclass[])
   UNION ALL
  SELECT concat_ws(' ', relname, grantee::regrole, privilege_type) FROM pg_class, aclexplode(relacl) WHERE pg_class.oid = ANY ($1::regclass[]) AND grantee <> relowner
   UNION ALL
  SELECT replace(pg_get_indexdef(indexrelid), ' ONLY ', ' ') FROM pg_index WHERE indrelid = ANY ($1::regclass[])
   ORDER BY line`;

describe('npm run db:distribute', () => {
  let db: TestDatabase;
  beforeEach(async () => {
    db = await createTestDatabase();
  });
  afterEach(() => db.drop());

  const distribute = (...args: string[]): Promise<Ended> =>
    promisify(execFile)(process.execPath, ['dist/src/database/cli/distribute.js', ...args], {
      env: { DATABASE_URL: db.url },
    }).then(
      (output) => ({ code: 0, ...output }),
      (error: Ended) => error,
    );

  it('says in one sentence that there is no Citus, and changes nothing', async () => {
    const { code, stderr } = await distribute();
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^This database has no Citus: .+\n$/)]);
    expect(await partitionsOf(db)).toEqual([]);
  });

  it.each(['1', '0', '-4', '1.5', 'many', '', '1025'])(
    'refuses %p as a number of partitions',
    async (count) => {
      const { code, stderr } = await distribute(`--partitions=${count}`);
      expect([code, stderr]).toEqual([1, expect.stringContaining('between 2 and 1024')]);
    },
  );

  it('partitions every table of a tenant, and keeps all else that the tables have', async () => {
    await db.sql('GRANT SELECT ON orders TO PUBLIC');
    const before = await db.sql(FURNISHING, [TENANT_TABLES]);
    expect(await distribute('--partitions', '8')).toMatchObject({
      code: 0,
      stdout: `Partitioned: ${TENANT_TABLES.join(', ')}\n`,
    });
    expect(await db.sql(FURNISHING, [TENANT_TABLES])).toEqual(before);
    const parts = await partitionsOf(db);
    expect(parts).toHaveLength(8 * TENANT_TABLES.length);
    expect(parts.find(({ name }) => name === 'orders_7')).toMatchObject({ options: ['fillfactor=80'] });
    expect(parts.filter(({ unlogged }) => unlogged).map(({ name }) => name.replace(/_\d$/, ''))).toEqual(
      Array.from({ length: 8 }, () => 'tenant_use'),
    );
    expect((await distribute('--partitions', '8')).stdout).toMatch(/already/);
  });

  it.each([
    ['was made now', async () => undefined],
    [
      'was there before a migration said how',
      async () => {
        await db.sql(
          `SELECT pg_clear_attribute_stats(schemaname, tablename, attname, false) FROM pg_stats WHERE schemaname = 'partitions'`,
        );
        await new StatisticsFromTheStart1764510000000().up({
          query: (sql: string) => db.sql(sql),
        } as QueryRunner);
      },
    ],
  ])('finds a charge by its primary key in an empty partition that %s', async (_which, prepare) => {
    await distribute('--partitions', '8');
    await prepare();
    const plan = await db.sql<{ 'QUERY PLAN': string }>(
      `EXPLAIN UPDATE charges SET polls = polls WHERE tenant_id = 'acme' AND id = 'ch_1' AND status = 'pending'`,
    );
    const conditions = plan.map((line) => line['QUERY PLAN']).filter((line) => line.includes('Index Cond'));
    expect(conditions).toEqual([expect.stringContaining('(id = ')]);
  });

  it('leaves a schema with rows as it is', async () => {
    await db.sql(`INSERT INTO orders (tenant_id, id, status, amount, currency, customer_email, metadata)
      VALUES ('acme', 'ord_1', 'pending', 1, 'eur', 'a@example.com', '{}')`);
    const { code, stderr } = await distribute('--partitions', '8');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^orders has rows: /)]);
    expect(await partitionsOf(db)).toEqual([]);
  });

  it('lets the service take checkouts of every tenant, each into one partition of each table', async () => {
    await distribute('--partitions', '8');
    const provider = await startMockProvider();
    const api = await startApi({ databaseUrl: db.url, providerUrl: provider.url, ROLE: 'api' });
    for (const { key: apiKey } of [ACME, GLOBEX])
      expect((await post(`${api.url}/v1/checkouts`, checkoutBody(), { apiKey })).status).toBe(201);
    await api.stop();
    await provider.stop();
    const places = await db.sql<{ tenant_id: string; remainder: string }>(
      `SELECT DISTINCT tenant_id, substring(tableoid::regclass::text from '\\d+$') AS remainder
         FROM (SELECT tenant_id, tableoid FROM orders UNION ALL SELECT tenant_id, tableoid FROM charges
               UNION ALL SELECT tenant_id, tableoid FROM idempotency_keys UNION ALL SELECT tenant_id, tableoid FROM outbox_messages) AS kept`,
    );
    expect(places.map(({ tenant_id }) => tenant_id).sort()).toEqual([ACME.tenant, GLOBEX.tenant]);
  });
});

const partitionsOf = (db: TestDatabase) =>
  db.sql<{ name: string; options: string[] | null; unlogged: boolean }>(
    `SELECT relname AS name, reloptions AS options, relpersistence = 'u' AS unlogged
       FROM pg_class WHERE relispartition AND relkind = 'r'`,
  );
