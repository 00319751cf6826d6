import pg from 'pg';
import type { BenchDatabase } from '../stage.js';
import { bare, dress } from './indexes.js';

const id = (prefix: string) => `'${prefix}_' || lpad(to_hex(n), 26, '0')`;

/** Evenly over two weeks, in the order of the rows: a table that grows by traffic has its old rows first. */
const SERVED = `now() - interval '14 days' * (1 - n / $1::float8)`;

/** What differs from one finished checkout to the next; all else is as in the one that was made through the service. */
const GROWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  idempotency_keys: {
    key: 'gen_random_uuid()::text', // as random as clients' keys are
    id: id('idem'),
    created_at: SERVED,
    completed_at: SERVED,
    expires_at: `${SERVED} + interval '72 hours'`,
  },
  orders: { id: id('ord'), created_at: SERVED },
  order_items: { order_id: id('ord') },
  charges: {
    id: id('ch'),
    order_id: id('ord'),
    derived_key: `'grown:' || ${id('idem')} || ':charge'`,
    provider_id: id('pi'),
    idempotency_key: `md5(n::text)`,
    created_at: SERVED,
    confirmed_at: SERVED,
  },
  ledger_entries: { subject: id('ord'), created_at: SERVED },
  outbox_messages: {
    id: id('msg'),
    sequence: 'n',
    dedupe_key: `'receipt:' || ${id('ord')}`,
    ordering_key: id('ord'),
    due_at: 'NULL',
    attempts: '1',
    created_at: SERVED,
    sent_at: SERVED,
  },
};

export const GROWN_TABLES = Object.keys(GROWN);

/** Statements at the same time: what is loaded is bound by one core each. */
const AT_ONCE = 2;

/**
 * Leaves in the database what so many finished checkouts leave: key, order, item, charge, ledger row and sent receipt.
 * One checkout must have been made. Indexes are made afterwards, and the planner is told, as months of traffic would.
 */
export async function grow(database: BenchDatabase, rows: number): Promise<void> {
  const options = '-c statement_timeout=0 -c synchronous_commit=off -c maintenance_work_mem=1GB';
  const pool = new pg.Pool({ connectionString: database.url, max: AT_ONCE, options });
  if (rows > 0) {
    await pool.query("ALTER SYSTEM SET max_wal_size = '4GB'");
    await pool.query('SELECT pg_reload_conf()');
    const dresses = await bare(pool, GROWN_TABLES);
    await Promise.all(GROWN_TABLES.map((table) => fill(pool, table, rows)));
    await dress(pool, dresses);
    await pool.query('ALTER SYSTEM RESET max_wal_size');
    await pool.query('SELECT pg_reload_conf()');
  }
  await Promise.all(GROWN_TABLES.map((table) => pool.query(`VACUUM ANALYZE ${table}`)));
  await pool.query('CHECKPOINT');
  await pool.end();
}

async function fill(pool: pg.Pool, table: string, rows: number): Promise<void> {
  const { rows: columns } = await pool.query<{ name: string }>(
    `SELECT quote_ident(attname) AS name FROM pg_attribute
      WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`,
    [table],
  );
  const names = columns.map(({ name }) => name);
  const values = names.map((name) => GROWN[table]![name] ?? `model.${name}`);
  await pool.query(
    `INSERT INTO ${table} (${names.join(', ')}) OVERRIDING SYSTEM VALUE
     SELECT ${values.join(', ')} FROM (SELECT * FROM ${table} LIMIT 1) AS model, generate_series(1, $1::int) AS n`,
    [rows],
  );
}
