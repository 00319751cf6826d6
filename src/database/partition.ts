import type { EntityManager } from 'typeorm';
import { DISTRIBUTION_COLUMN, TENANT_TABLES } from './distribution.js';

/** Partitions stand in a schema of their own: what lists the tables of the service sees no more of them than before. */
const SCHEMA = 'partitions';

/** What a table has besides columns and checks, as statements that give it to another of the same name. */
interface Furnishing {
  readonly table: string;
  readonly comment: string | null;
  readonly unlogged: boolean;
  readonly storage: string | null;
  readonly columnOptions: readonly { readonly column: string; readonly options: string }[];
  readonly indexes: readonly string[];
  readonly keys: readonly string[];
  /** Policies and grants. */
  readonly access: readonly string[];
  readonly foreignKeys: readonly { readonly name: string; readonly definition: string }[];
  readonly statistics: readonly {
    readonly column: string;
    readonly width: number;
    readonly distinct: number;
  }[];
}

/**
 * Makes every tenant's table of a migrated schema without rows one that is partitioned by hash of the tenant, on this
 * server. Tables that are partitioned already are left as they are.
 * @param count how many partitions each table has
 * @returns the tables that it partitioned
 * @throws Error where a table has rows, which it does not move
 */
export async function partition(
  database: Pick<EntityManager, 'transaction'>,
  count: number,
): Promise<string[]> {
  return database.transaction(async (manager) => {
    const whole = await wholeTables(manager);
    for (const table of whole) await requireEmpty(manager, table);
    const furnishings: Furnishing[] = [];
    for (const table of whole) furnishings.push(await furnishingOf(manager, table));
    await manager.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`);
    for (const furnishing of furnishings) await dropForeignKeys(manager, furnishing);
    for (const furnishing of furnishings) await remake(manager, furnishing, count);
    for (const furnishing of furnishings) await addForeignKeys(manager, furnishing);
    return whole;
  });
}

async function wholeTables(manager: EntityManager): Promise<string[]> {
  const rows = await manager.query<{ name: string }[]>(
    `SELECT name FROM unnest($1::text[]) WITH ORDINALITY AS listed (name, place)
       JOIN pg_class ON pg_class.oid = name::regclass AND relkind = 'r' ORDER BY place`,
    [TENANT_TABLES],
  );
  return rows.map(({ name }) => name);
}

async function requireEmpty(manager: EntityManager, table: string): Promise<void> {
  await manager.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  const rows = await manager.query<unknown[]>(`SELECT FROM ${table} LIMIT 1`);
  if (rows.length > 0)
    throw new Error(
      `${table} has rows: partition a schema that is freshly migrated, and load them afterwards.`,
    );
}

async function furnishingOf(manager: EntityManager, table: string): Promise<Furnishing> {
  const [found] = await manager.query<Furnishing[]>(FURNISHING, [table]);
  return found!;
}

const FURNISHING = `
  SELECT relname AS table,
         quote_literal(obj_description(oid, 'pg_class')) AS comment,
         relpersistence = 'u' AS unlogged,
         array_to_string(reloptions, ', ') AS storage,
         (SELECT coalesce(json_agg(json_build_object('column', attname, 'options', array_to_string(attoptions, ', '))), '[]')
            FROM pg_attribute WHERE attrelid = pg_class.oid AND attoptions IS NOT NULL) AS "columnOptions",
         (SELECT coalesce(json_agg(pg_get_indexdef(indexrelid) ORDER BY indexrelid), '[]') FROM pg_index
           WHERE indrelid = pg_class.oid AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)) AS indexes,
         (SELECT coalesce(json_agg(format('CONSTRAINT %I %s', conname, pg_get_constraintdef(c.oid)) ORDER BY c.oid), '[]')
            FROM pg_constraint AS c WHERE conrelid = pg_class.oid AND contype IN ('p', 'u')) AS keys,
         (SELECT coalesce(json_agg(words), '[]') FROM (
            SELECT format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', relname) AS words WHERE relrowsecurity
            UNION ALL SELECT format('CREATE POLICY %I ON %I USING (%s)', polname, relname, pg_get_expr(polqual, polrelid))
              FROM pg_policy WHERE polrelid = pg_class.oid
            UNION ALL SELECT format('GRANT %s ON %I TO %s', privilege_type, relname, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
              FROM aclexplode(relacl) WHERE grantee <> relowner) AS access) AS access,
         (SELECT coalesce(json_agg(json_build_object('name', quote_ident(conname), 'definition', pg_get_constraintdef(c.oid)) ORDER BY c.oid), '[]')
            FROM pg_constraint AS c WHERE conrelid = pg_class.oid AND contype = 'f') AS "foreignKeys",
         (SELECT coalesce(json_agg(json_build_object('column', attname, 'width', avg_width, 'distinct', n_distinct)), '[]')
            FROM pg_stats WHERE schemaname = current_schema() AND tablename = relname
             AND to_regproc('pg_restore_attribute_stats') IS NOT NULL) AS statistics
    FROM pg_class WHERE oid = $1::regclass`;

async function dropForeignKeys(manager: EntityManager, { table, foreignKeys }: Furnishing): Promise<void> {
  for (const { name } of foreignKeys) await manager.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
}

async function addForeignKeys(manager: EntityManager, { table, foreignKeys }: Furnishing): Promise<void> {
  for (const { name, definition } of foreignKeys)
    await manager.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
}

/** Under the same names: statements, errors and later migrations find what they know. */
async function remake(manager: EntityManager, furnishing: Furnishing, count: number): Promise<void> {
  const { table, comment, keys, indexes, access } = furnishing;
  await manager.query(`ALTER TABLE ${table} RENAME TO ${table}_whole`);
  await manager.query(`
    CREATE TABLE ${table} (LIKE ${table}_whole INCLUDING COMMENTS INCLUDING CONSTRAINTS INCLUDING DEFAULTS
      INCLUDING GENERATED INCLUDING IDENTITY INCLUDING STORAGE) PARTITION BY HASH (${DISTRIBUTION_COLUMN})`);
  await manager.query(`DROP TABLE ${table}_whole`);
  if (comment) await manager.query(`COMMENT ON TABLE ${table} IS ${comment}`);
  for (let remainder = 0; remainder < count; remainder++)
    await addPartition(manager, furnishing, count, remainder);
  for (const key of keys) await manager.query(`ALTER TABLE ${table} ADD ${key}`);
  for (const words of [...indexes, ...access]) await manager.query(words);
}

async function addPartition(
  manager: EntityManager,
  { table, unlogged, storage, columnOptions, statistics }: Furnishing,
  count: number,
  remainder: number,
): Promise<void> {
  const name = `${SCHEMA}.${table}_${remainder}`;
  await manager.query(`
    CREATE ${unlogged ? 'UNLOGGED' : ''} TABLE ${name} PARTITION OF ${table} FOR VALUES WITH (MODULUS ${count}, REMAINDER ${remainder})
    ${storage ? `WITH (${storage})` : ''}`);
  for (const { column, options } of columnOptions)
    await manager.query(`ALTER TABLE ${name} ALTER COLUMN ${column} SET (${options})`);
  for (const { column, width, distinct } of statistics)
    await manager.query(RESTORE, [SCHEMA, `${table}_${remainder}`, column, width, distinct]);
}

/** Plans are made from the statistics of a partition, which has none of its own before its first rows (PostgreSQL 18). */
const RESTORE = `
  SELECT pg_restore_attribute_stats('schemaname', $1::text, 'relname', $2::text, 'attname', $3::text, 'inherited', false,
    'null_frac', 0::real, 'avg_width', $4::int, 'n_distinct', $5::real)`;
