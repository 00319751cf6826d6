import { admitAppRole } from '../../src/database/app-role.js';
import { TENANT_TABLES } from '../../src/database/distribution.js';
import { migrate } from '../../src/database/migrate.js';
import { withDatabase } from '../../src/database/short-lived.js';
import { acrossTenants, planned } from '../../src/database/statement.js';
import { asService } from '../support/app-role.js';
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

  it('leaves it nothing that it had been granted besides', async () => {
    await db.sql('GRANT ALL ON api_keys, ledger_entries TO checkout_app');
    await db.secured.query(planned('SELECT FROM api_keys'));
    await admit(asService(db.url));
    for (const sql of ['SELECT FROM api_keys', 'TRUNCATE ledger_entries'])
      await expect(db.secured.query(planned(sql))).rejects.toThrow('permission denied');
  });

  it.each([
    ['is the owner', 'postgres', ''],
    ['may take on the part of the owner', 'may_be_owner', 'NOINHERIT; GRANT postgres TO may_be_owner'],
    ['sees all data', 'sees_all', '; GRANT pg_read_all_data TO sees_all'],
    ['is told to see every row', 'bypasses', 'BYPASSRLS'],
  ])('refuses one that %s', async (_what, name, attributes) => {
    if (attributes) await db.sql(`CREATE ROLE ${name} LOGIN ${attributes}`);
    try {
      await expect(admit(role(name))).rejects.toThrow(`Row security does not hold for role ${name}, which`);
    } finally {
      if (attributes) await db.sql(`DROP ROLE ${name}`);
    }
  });

  it('refuses a URL that leads to another database', async () => {
    const other = await createTestDatabase();
    await expect(admit(asService(other.url))).rejects.toThrow('it names another database than DATABASE_URL');
    await other.drop();
  });

  it('makes none without a password', async () => {
    const url = Object.assign(new URL(role('has_no_password')), { password: '' }).href;
    await expect(admit(url)).rejects.toThrow('DATABASE_APP_URL has no password');
    expect(await db.sql("SELECT FROM pg_roles WHERE rolname = 'has_no_password'")).toEqual([]);
  });

  it('is not forgotten by the next migration', async () => {
    await expect(migrate(db.url, { lease: 30 })).rejects.toThrow(
      'The service runs as role checkout_app here: set DATABASE_APP_URL to its URL',
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

describe('A service whose role a migration has not let in', () => {
  it('is not ready, and refuses requests with 503, until it is', async () => {
    const late = await openShop({ ROLE: 'api' });
    const ready = async () => (await fetch(`${late.api.url}/health/ready`)).status;
    await late.db.sql('REVOKE INSERT ON outbox_messages FROM checkout_app');
    expect(await ready()).toBe(503);
    const refused = await post(`${late.api.url}/v1/checkouts`, checkoutBody(), { key: 'late' });
    expect([refused.status, refused.body.code]).toEqual([503, 'store_unavailable']);
    await migrate(late.db.url, { lease: 30, appUrl: asService(late.db.url) });
    expect(await ready()).toBe(200);
    expect((await post(`${late.api.url}/v1/checkouts`, checkoutBody(), { key: 'late' })).status).toBe(201);
    await late.close();
  });

  it('needs no restart where the policies come while it runs', async () => {
    const early = await createTestDatabase();
    for (const table of TENANT_TABLES) await early.sql(`ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`);
    expect(await early.secured.findManner()).toEqual({ active: true, role: 'checkout_app' });
    for (const table of TENANT_TABLES) await early.sql(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
    expect(await early.secured.query(everyTenantIn('orders'), [ACME.tenant])).toEqual([]);
    await early.drop();
  });
});

interface Row {
  readonly tenant_id: string;
}

const NAMED = "SELECT current_setting('checkout.tenant', true) AS tenant";
