import { DataSource } from 'typeorm';
import { ENTITIES } from '../../src/app.module.js';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { REFERENCE_TABLES, TENANT_TABLES } from '../../src/database/distribution.js';
import { migrations } from '../../src/database/schema.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

interface Column {
  name: string;
  type: string;
  nullable: boolean;
}
interface Constraint {
  name: string;
  columns: string[];
}

const OURS = `
  SELECT oid, relname FROM pg_class
   WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'migrations'`;

const UNCOMMENTED = `
  WITH ours AS (${OURS})
  SELECT relname AS name FROM ours WHERE obj_description(oid, 'pg_class') IS NULL
   UNION ALL
  SELECT relname || '.' || attname FROM ours JOIN pg_attribute ON attrelid = oid
   WHERE attnum > 0 AND NOT attisdropped AND col_description(oid, attnum) IS NULL`;

/** Primary keys and unique indexes, partial ones too; a unique constraint is an index as well. */
const UNIQUE_INDEXES = `
  WITH ours AS (${OURS})
  SELECT i.indexrelid::regclass::text AS name,
         array(SELECT pg_get_indexdef(i.indexrelid, n, true) FROM generate_series(1, i.indnkeyatts) n) AS columns
    FROM pg_index i JOIN ours ON ours.oid = i.indrelid
   WHERE i.indisunique AND NOT ours.relname = ANY ($1)`;

const FOREIGN_KEYS = `
  WITH ours AS (${OURS})
  SELECT conname || ' to ' || confrelid::regclass AS name,
         array(SELECT attname::text FROM unnest(conkey) WITH ORDINALITY AS k (num, place)
                 JOIN pg_attribute ON attrelid = conrelid AND attnum = num ORDER BY place) AS columns
    FROM pg_constraint JOIN ours ON ours.oid = conrelid
   WHERE contype = 'f' AND NOT ours.relname = ANY ($1)`;

const ROW_SECURITY = `
  SELECT relname AS table, relrowsecurity AS secured,
         array(SELECT pg_get_expr(polqual, polrelid) FROM pg_policy WHERE polrelid = pg_class.oid) AS policies
    FROM pg_class WHERE oid IN (SELECT oid FROM (${OURS}) AS ours) ORDER BY relname COLLATE "C"`;

const COLUMNS = `
  WITH ours AS (${OURS})
  SELECT relname || '.' || attname AS name, format_type(atttypid, atttypmod) AS type, NOT attnotnull AS nullable
    FROM ours JOIN pg_attribute ON attrelid = oid
   WHERE attnum > 0 AND NOT attisdropped`;

/** Everything that a migration makes, as text: columns, defaults, comments, constraints and indexes. */
const CATALOGUE = `
  WITH ours AS (${OURS})
  SELECT concat_ws(' ', relname, attname, format_type(atttypid, atttypmod), attnotnull,
                   pg_get_expr(adbin, adrelid), col_description(ours.oid, attnum)) AS line
    FROM ours JOIN pg_attribute ON attrelid = ours.oid AND attnum > 0 AND NOT attisdropped
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
   UNION ALL
  SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(pg_constraint.oid))
    FROM pg_constraint JOIN ours ON ours.oid = conrelid
   UNION ALL
  SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN ours ON ours.oid = indrelid
   UNION ALL
  SELECT concat_ws(' ', proname, pg_get_functiondef(pg_proc.oid)) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
   UNION ALL
  SELECT pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger JOIN ours ON ours.oid = tgrelid WHERE NOT tgisinternal
   UNION ALL
  SELECT concat_ws(' ', polrelid::regclass, polname, pg_get_expr(polqual, polrelid)) FROM pg_policy
   UNION ALL
  SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd')
   ORDER BY line`;

const startsElsewhere = ({ columns }: Constraint) => columns[0] !== 'tenant_id';

describe('The schema', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  it('explains every table and every column', async () => {
    expect(await db.sql(UNCOMMENTED)).toEqual([]);
  });

  it('says of every table where its rows live once they are distributed', async () => {
    const tables = await db.sql<{ relname: string }>(`${OURS} ORDER BY relname`);
    expect(tables.map(({ relname }) => relname)).toEqual([...REFERENCE_TABLES, ...TENANT_TABLES].sort());
  });

  it('shows a role that does not own them no rows but those of the tenant that it names', async () => {
    const own = (column: string) =>
      `((${column} = current_setting('checkout.tenant'::text, true)) OR (current_setting('checkout.tenant'::text, true) = '*'::text))`;
    const secured = (table: string, column: string) => ({ table, secured: true, policies: [own(column)] });
    const found = await db.sql<{ table: string }>(ROW_SECURITY);
    expect(found.filter(({ table }) => table !== 'sweeps')).toEqual(
      [
        ...TENANT_TABLES.map((table) => secured(table, 'tenant_id')),
        secured('tenants', 'id'),
        { table: 'api_keys', secured: true, policies: [] }, // none at all: two functions read and mark them
      ].sort((one, other) => (one.table < other.table ? -1 : 1)),
    );
  });

  it("begins every primary key and unique index of a tenant's table with the tenant", async () => {
    const found = await db.sql<Constraint>(UNIQUE_INDEXES, [REFERENCE_TABLES]);
    expect(found.length).toBeGreaterThan(9);
    expect(found.filter(startsElsewhere)).toEqual([]);
  });

  it("begins every foreign key of a tenant's table with the tenant", async () => {
    const found = await db.sql<Constraint>(FOREIGN_KEYS, [REFERENCE_TABLES]);
    expect(found.length).toBeGreaterThan(2);
    expect(found.filter(startsElsewhere)).toEqual([]);
  });

  it('lets an idempotency key be deleted without touching what it made: no foreign key points at it [T-5]', async () => {
    const found = await db.sql<Constraint>(FOREIGN_KEYS, [[]]);
    expect(found.filter(({ name }) => name.endsWith(' to idempotency_keys'))).toEqual([]);
    expect(found.filter(({ name }) => name.endsWith(' to orders'))).not.toEqual([]);
  });

  it('keeps amounts as bigint and nothing as floating point [MON-10]', async () => {
    const columns = await db.sql<Column>(COLUMNS);
    const amounts = columns.filter(({ name }) => name.includes('amount'));
    expect(amounts.length).toBeGreaterThan(6);
    expect(amounts.filter(({ type }) => type !== 'bigint')).toEqual([]);
    expect(columns.filter(({ type }) => /^(real|double precision|money)/.test(type))).toEqual([]);
  });
});

describe('The entities', () => {
  let db: TestDatabase;
  let dataSource: DataSource;
  beforeAll(async () => {
    db = await createTestDatabase();
    dataSource = new DataSource(
      dataSourceOptions({ url: db.url, poolSize: 1 }, { entities: ENTITIES, migrations: [] }),
    );
    await dataSource.initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await db.drop();
  });

  it('name columns that are there, with the types that they have', async () => {
    const typeOf = (type: string) => (type === 'timestamptz' ? 'timestamp with time zone' : type);
    const mapped = dataSource.entityMetadatas.flatMap(({ tableName, columns }) =>
      columns.map(({ databaseName, type, isNullable }) => ({
        name: `${tableName}.${databaseName}`,
        type: typeOf(String(type)),
        nullable: isNullable,
      })),
    );
    expect(mapped.length).toBeGreaterThan(20);
    expect(await db.sql<Column>(COLUMNS)).toEqual(expect.arrayContaining(mapped));
  });
});

describe('The migrations', () => {
  let db: TestDatabase;
  let dataSource: DataSource;
  beforeAll(async () => {
    db = await createTestDatabase();
    dataSource = new DataSource(
      dataSourceOptions({ url: db.url, poolSize: 1 }, { entities: [], migrations }),
    );
    await dataSource.initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await db.drop();
  });

  const catalogue = async () => (await db.sql<{ line: string }>(CATALOGUE)).map(({ line }) => line);

  it('take back all that they made, and make the same again', async () => {
    const before = await catalogue();
    expect(before.length).toBeGreaterThan(100);

    for (const _ of migrations) await dataSource.undoLastMigration();
    expect(await catalogue()).toEqual([]);

    await dataSource.runMigrations();
    expect(await catalogue()).toEqual(before);
  });
});
