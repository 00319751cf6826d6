import type { EntityManager } from 'typeorm';
import { CITUS } from './citus.js';
import { DISTRIBUTION_COLUMN, REFERENCE_TABLES, TENANT_TABLES } from './distribution.js';

/** All tenants' tables are colocated with this one: the shards of one tenant are on one server, and stay together. */
const [LEADER] = TENANT_TABLES;

/**
 * Spreads a migrated schema, with the rows that it has, over the servers of a Citus cluster; tables that are spread
 * already are left as they are, so that it is run again after a migration that adds one.
 * @returns the tables that it spread
 * @throws Error where the database has no Citus
 */
export async function distribute(database: Pick<EntityManager, 'transaction'>): Promise<string[]> {
  return database.transaction(async (manager) => {
    await requireCitus(manager);
    const done = await spreadAlready(manager);
    const missing = (table: string) => !done.has(table);
    const references = REFERENCE_TABLES.filter(missing);
    const tenants = TENANT_TABLES.filter(missing);
    for (const table of references) await manager.query('SELECT create_reference_table($1)', [table]);
    for (const table of tenants) await spreadByTenant(manager, table);
    return [...references, ...tenants];
  });
}

async function requireCitus(manager: EntityManager): Promise<void> {
  const [found] = await manager.query<unknown[]>(CITUS.text);
  if (found) return;
  throw new Error(
    'This database has no Citus: run CREATE EXTENSION citus in it, or say --partitions <number> to partition it on this server.',
  );
}

async function spreadAlready(manager: EntityManager): Promise<Set<string>> {
  const rows = await manager.query<{ name: string }[]>(
    'SELECT relname AS name FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid',
  );
  return new Set(rows.map(({ name }) => name));
}

function spreadByTenant(manager: EntityManager, table: string): Promise<unknown> {
  const leader = table === LEADER ? 'default' : LEADER;
  return manager.query('SELECT create_distributed_table($1, $2, colocate_with => $3)', [
    table,
    DISTRIBUTION_COLUMN,
    leader,
  ]);
}
