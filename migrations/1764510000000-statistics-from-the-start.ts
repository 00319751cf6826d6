import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What `PlansOfAnyAge` says of the tenant holds once statistics have been taken. Until then the planner takes the tenant of
 * a new table for one of 200, and any index that begins with it finds one row of so few: a session that had planned then
 * read every charge of the tenant to settle one, over and over. So a table that has no statistics yet is given these: the
 * tenant tells no row from another, and its key tells all. Before PostgreSQL 18 there is no way to say it, and the first
 * ANALYZE, a minute or two later, says it then.
 */
export class StatisticsFromTheStart1764510000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const [table, key] of Object.entries(KEYS)) await runner.query(sayOnce(table, key));
  }

  /** Statistics promise nothing, and the next ANALYZE replaces them. */
  down(): Promise<void> {
    return Promise.resolve();
  }
}

/** Of the table itself, or of its partitions, which are what is read. By EXECUTE, as an older PostgreSQL would not even plan it. */
const sayOnce = (table: string, key: string) => `
DO $$ DECLARE read record; BEGIN
  IF to_regproc('pg_restore_attribute_stats') IS NULL THEN RETURN; END IF;
  FOR read IN
    SELECT nspname::text AS schema, relname::text AS name FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE relkind = 'r' AND (pg_class.oid = '${table}'::regclass
         OR pg_class.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = '${table}'::regclass))
       AND NOT EXISTS (SELECT 1 FROM pg_stats WHERE schemaname = nspname AND tablename = relname)
  LOOP
    EXECUTE ${distinct('tenant_id', 1)} USING read.schema, read.name;
    EXECUTE ${distinct(key, -1)} USING read.schema, read.name;
  END LOOP;
END $$`;

/** Negative: as a share of the rows. */
const distinct = (column: string, values: 1 | -1) => `
  $say$ SELECT pg_restore_attribute_stats('schemaname', $1, 'relname', $2, 'attname', '${column}',
    'inherited', false, 'null_frac', 0::real, 'avg_width', 24, 'n_distinct', (${values})::real) $say$`;

/** By table, what makes a row unique within its tenant. */
const KEYS = {
  idempotency_keys: 'key',
  orders: 'id',
  order_items: 'order_id',
  charges: 'id',
  refunds: 'id',
  ledger_entries: 'subject',
  outbox_messages: 'id',
  inbox_messages: 'id',
  reviews: 'id',
};
