import { admitAppRole } from '../../src/database/app-role.js';
import { TENANT_TABLES } from '../../src/database/distribution.js';
import { withDatabase } from '../../src/database/short-lived.js';
import { acrossTenants, planned } from '../../src/database/statement.js';
import { checkoutBody, post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { openShop, type Shop } from '../support/shop.js';
import { ACME, GLOBEX } from '../support/start-api.js';

/** Without a condition: what a statement that forgot its tenant would do. */
const everyTenantIn = (table: string) =>
  planned(`SELECT DISTINCT tenant_id FROM ${table} WHERE $1::text IS NOT NULL`);
const tenantsOf = (rows: readonly { tenant_id: string }[]) => rows.map(({ tenant_id }) => tenant_id).sort();

let shop: Shop;
let db: TestDatabase;
beforeAll(async () => {
  shop = await openShop();
  db = shop.db;
  for (const { key } of [ACME, GLOBEX])
    await post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key: `first-of-${key}`, apiKey: key });
});
afterAll(() => shop.close());

const WRITTEN = ['orders', 'order_items', 'charges', 'ledger_entries', 'outbox_messages', 'idempotency_keys'];

describe('The role that the service runs as', () => {
  it.each(WRITTEN)(
    'sees of %s the rows of the tenant that is named, where the statement forgot it',
    async (table) => {
      expect(tenantsOf(await db.sql(`SELECT DISTINCT tenant_id FROM ${table}`))).toEqual(['acme', 'globex']);
      for (const { tenant } of [ACME, GLOBEX])
        expect(tenantsOf(await db.secured.query(everyTenantIn(table), [tenant]))).toEqual([tenant]);
      const across = acrossTenants(everyTenantIn(table));
      expect(tenantsOf(await db.secured.query(across, ['']))).toEqual(['acme', 'globex']);
    },
  );

  it.each(TENANT_TABLES)('sees nothing of %s where no tenant is named', async (table) => {
    expect(await db.secured.query(planned(`SELECT FROM ${table} LIMIT 1`))).toEqual([]);
  });

  it('changes and deletes nothing of another tenant, and writes nothing into it', async () => {
    const [acme] = await db.sql<{ id: string }>('SELECT id FROM orders WHERE tenant_id = $1', [ACME.tenant]);
    const change = planned(
      'UPDATE orders SET version = version WHERE id = $2 AND $1::text IS NOT NULL RETURNING id',
    );
    expect(await db.secured.query(change, [GLOBEX.tenant, acme!.id])).toEqual([]);
    expect(await db.secured.query(change, [ACME.tenant, acme!.id])).toEqual([acme]);
    const remove = planned(
      'DELETE FROM idempotency_keys WHERE $1::text IS NOT NULL AND tenant_id = $2 RETURNING key',
    );
    expect(await db.secured.query(remove, [GLOBEX.tenant, ACME.tenant])).toEqual([]);
    const write = planned(
      `INSERT INTO inbox_messages (tenant_id, source, id, payload) SELECT $2, $1, $1, '{}'`,
    );
    await expect(db.secured.query(write, [GLOBEX.tenant, ACME.tenant])).rejects.toThrow('row-level security');
  });

  it('forgets the tenant with the transaction: a pooler gives the session to others', async () => {
    const one = await createTestDatabase({ poolSize: 1 });
    try {
      await one.secured.transaction(async (tx) => {
        await tx.query(everyTenantIn('orders'), [ACME.tenant]);
        expect(await tx.query(planned(NAMED))).toEqual([{ tenant: ACME.tenant }]);
      });
      expect(await one.secured.query(planned(NAMED))).toEqual([{ tenant: '' }]);
      await one.secured.query(everyTenantIn('orders'), [ACME.tenant]);
      expect(await one.secured.query(planned(NAMED))).toEqual([{ tenant: '' }]);
    } finally {
      await one.drop();
    }
  });

  it('goes from tenant to tenant in one transaction', async () => {
    const found = await db.secured.transaction((tx) =>
      Promise.all([ACME, GLOBEX, ACME].map(({ tenant }) => tx.query<Row>(everyTenantIn('orders'), [tenant]))),
    );
    expect(found.map(tenantsOf)).toEqual([['acme'], ['globex'], ['acme']]);
  });

  it.each([
    ['read API keys', 'SELECT hash FROM api_keys'],
    ['change the ledger', 'UPDATE ledger_entries SET amount = amount'],
    ['delete from the ledger', 'DELETE FROM ledger_entries'],
    ['delete orders', 'DELETE FROM orders'],
    ['make tenants', "INSERT INTO tenants (id, name) VALUES ('third', 'third')"],
    ['switch the policies off', 'ALTER TABLE orders DISABLE ROW LEVEL SECURITY'],
    ['switch the policies off for itself', 'SET ROLE postgres'],
    ['make tables', 'CREATE TABLE more (id int)'],
  ])('may not %s', async (_what, sql) => {
    await expect(db.secured.query(planned(sql))).rejects.toThrow(/permission denied|must be owner/);
  });
});

describe('To let a role in', () => {
  const role = (name: string) => {
    const url = new URL(db.url);
    return Object.assign(url, { username: name, password: 'it\'s "quoted"' }).href;
  };
  const admit = async (appUrl: string) => {
    await admitAppRole({ query: (sql, values) => db.sql(sql, values) }, appUrl, { lease: 30 });
  };

  it('makes it where it is not there, and may be said again', async () => {
    const name = `App of "${new URL(db.url).pathname.slice(1)}"`;
    try {
      await admit(role(encodeURIComponent(name)));
      await admit(role(encodeURIComponent(name)));
      const seen = await withDatabase(role(encodeURIComponent(name)), (database) =>
        database.query<Row>(everyTenantIn('orders'), [ACME.tenant]),
      );
      expect(tenantsOf(seen)).toEqual([ACME.tenant]);
      expect(
        await db.sql(
          'SELECT setconfig FROM pg_db_role_setting JOIN pg_roles ON pg_roles.oid = setrole WHERE rolname = $1',
          [name],
        ),
      ).toEqual([
        { setconfig: expect.arrayContaining(['lock_timeout=2000ms', 'enable_seqscan=off']) as unknown },
      ]);
    } finally {
      await db.sql(`DROP OWNED BY "${name.replaceAll('"', '""')}"`);
      await db.sql(`DROP ROLE "${name.replaceAll('"', '""')}"`);
    }
  });

  it('refuses one that would see every tenant', async () => {
    await expect(admit(db.url)).rejects.toThrow(
      'Row security does not hold for role postgres, which is the owner of the tables or a superuser: name another in DATABASE_APP_URL.',
    );
  });

  it('says what to do where it may not make one', async () => {
    const asApp = {
      query: <Row>(sql: string, values: unknown[] = []) => db.secured.dataSource.query<Row[]>(sql, values),
    };
    await expect(admitAppRole(asApp, role('nobody_yet'), { lease: 30 })).rejects.toThrow(
      'There is no role nobody_yet, and this one may not make it',
    );
  });
});

interface Row {
  readonly tenant_id: string;
}

const NAMED = "SELECT current_setting('checkout.tenant', true) AS tenant";
