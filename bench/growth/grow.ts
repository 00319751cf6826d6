import pg from 'pg';
import type { BenchDatabase } from '../stage.js';
import { fill, GROWN_TABLES } from '../../test/support/grow.js';
import { bare, dress } from './indexes.js';

/** Kept for three days, keys wait for the reaper mostly; receipts, kept for seven, half of them. */
const DAYS = 14;

/** Statements at the same time: what is loaded is bound by one core each. */
const AT_ONCE = 2;

/**
 * Leaves in the database what so many finished checkouts leave: key, order, item, charge, ledger row and sent receipt.
 * One checkout must have been made. Indexes are made afterwards, and the planner is told, as months of traffic would.
 */
export async function grow(database: BenchDatabase, rows: number): Promise<void> {
  const options = '-c statement_timeout=0 -c synchronous_commit=off -c maintenance_work_mem=1GB';
  const pool = new pg.Pool({ connectionString: database.url, max: AT_ONCE, options });
  const sql = async (text: string, values: unknown[]) => (await pool.query<object>(text, values)).rows;
  if (rows > 0) {
    await pool.query("ALTER SYSTEM SET max_wal_size = '4GB'");
    await pool.query('SELECT pg_reload_conf()');
    const dresses = await bare(pool, GROWN_TABLES);
    await Promise.all(GROWN_TABLES.map((table) => fill(sql, table, rows, DAYS)));
    await dress(pool, dresses);
    await pool.query('ALTER SYSTEM RESET max_wal_size');
    await pool.query('SELECT pg_reload_conf()');
  }
  await Promise.all(GROWN_TABLES.map((table) => pool.query(`VACUUM ANALYZE ${table}`)));
  await pool.query('CHECKPOINT');
  await pool.end();
}
