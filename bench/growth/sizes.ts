import { GROWN_TABLES } from '../../test/support/grow.js';
import type { Row } from '../outcome.js';
import type { BenchDatabase } from '../stage.js';

/** Per table: how big it is, and whether autovacuum keeps up by its own account. */
export async function sizes(database: BenchDatabase, name: string): Promise<Row[]> {
  const rows = await database.sql<Record<string, string>>(SIZES, [GROWN_TABLES]);
  return rows.map(({ table, ...figures }) => ({ database: name, table: table!, ...numbers(figures) }));
}

function numbers(figures: Readonly<Record<string, string>>): Row {
  return Object.fromEntries(Object.entries(figures).map(([name, figure]) => [name, Number(figure)]));
}

const SIZES = `
  SELECT relname AS table, pg_table_size(relid) / 1e6 AS "heap MB", pg_indexes_size(relid) / 1e6 AS "indexes MB",
         n_live_tup AS live, n_dead_tup AS dead, autovacuum_count AS autovacuums,
         100.0 * n_tup_hot_upd / greatest(1, n_tup_upd) AS "HOT %"
    FROM pg_stat_user_tables WHERE relid = ANY ($1::regclass[]) ORDER BY relname`;
