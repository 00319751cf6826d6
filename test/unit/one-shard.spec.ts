import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { partition } from '../../src/database/partition.js';
import { judge } from '../partitioned/one-shard.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const SHARDS = 8;

describe('The judge of what meets one shard', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
    const options = dataSourceOptions({ url: db.url, poolSize: 1 }, { entities: [], migrations: [] });
    const dataSource = await new DataSource(options).initialize();
    await partition(dataSource, SHARDS);
    await dataSource.destroy();
  });
  afterAll(() => db.drop());

  async function judged(sql: string) {
    const [row] = await db.sql<{ 'QUERY PLAN': [{ Plan: object }] }>(`EXPLAIN (VERBOSE, FORMAT JSON) ${sql}`);
    return judge(row!['QUERY PLAN'][0].Plan);
  }

  it.each([
    "SELECT FROM orders WHERE tenant_id = 'acme' AND id = 'ord_1'",
    "SELECT FROM orders, charges WHERE orders.tenant_id = 'acme' AND charges.tenant_id = orders.tenant_id",
    "SELECT FROM orders WHERE tenant_id = 'acme' AND id = (SELECT order_id FROM charges WHERE tenant_id = 'acme' LIMIT 1)",
    "INSERT INTO tenant_use VALUES ('acme', 1)",
    "INSERT INTO tenant_use VALUES ('acme', (SELECT count(*) FROM orders WHERE tenant_id = 'acme'))",
    "INSERT INTO tenant_use SELECT 'acme', n FROM generate_series(1, 3) AS n",
    "UPDATE orders SET version = 2 WHERE tenant_id = 'acme'",
  ])('takes %p, which names one tenant', async (sql) => {
    const { tables, reason } = await judged(sql);
    expect([tables.size > 0, reason]).toEqual([true, undefined]);
  });

  it.each([
    ["SELECT FROM orders WHERE id = 'ord_1'", /^reads 8 shards/],
    ["SELECT FROM orders WHERE tenant_id = 'acme' OR id = 'ord_1'", /^reads 8 shards/],
    ["SELECT FROM orders WHERE tenant_id > 'acme'", /^reads 8 shards/],
    [
      "SELECT FROM orders, charges WHERE orders.tenant_id = 'acme' AND order_id = orders.id",
      /^reads 8 shards/,
    ],
    [
      "UPDATE orders SET version = 2 WHERE id IN (SELECT order_id FROM charges WHERE tenant_id = 'acme')",
      /8/,
    ],
    ['DELETE FROM orders WHERE tenant_id IN (SELECT id FROM tenants)', /^reads 8 shards/],
    ["SELECT FROM orders WHERE tenant_id = ANY ('{acme}')", /^takes a list of tenants/],
    ["INSERT INTO tenant_use VALUES ('acme', 1), ('globex', 1)", /^inserts rows of several tenants/],
    ["INSERT INTO tenant_use VALUES ('acme', (SELECT count(*) FROM orders))", /^reads 8 shards/],
    ['INSERT INTO tenant_use SELECT id, 1 FROM tenants', /^inserts rows of several tenants/],
  ])('refuses %p', async (sql, why) => {
    expect((await judged(sql)).reason).toMatch(why);
  });

  it('has nothing to say of what every server has', async () => {
    const { tables, reason } = await judged("SELECT FROM api_keys WHERE tenant_id = 'acme'");
    expect([tables.size, reason]).toEqual([0, undefined]);
  });
});
