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

const sayOnce = (table: string, key: string) => `
DO $$ BEGIN
  IF to_regproc('pg_restore_attribute_stats') IS NULL
    OR EXISTS (SELECT 1 FROM pg_stats WHERE schemaname = current_schema() AND tablename = '${table}') THEN RETURN; END IF;
  ${distinct(table, 'tenant_id', 1)}
  ${distinct(table, key, -1)}
END $$`;

/** Negative: as a share of the rows. By EXECUTE, as an older PostgreSQL would not even plan it. */
const distinct = (table: string, column: string, values: 1 | -1) => `
  EXECUTE $say$ SELECT pg_restore_attribute_stats('schemaname', current_schema()::text, 'relname', '${table}',
    'attname', '${column}', 'inherited', false, 'null_frac', 0::real, 'avg_width', 24, 'n_distinct', (${values})::real) $say$;`;

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
