/** Anything that runs a statement: a test's database, or a benchmark's. */
export type Sql = (text: string, values: unknown[]) => Promise<unknown>;

const id = (prefix: string) => `'${prefix}_' || lpad(to_hex(n), 26, '0')`;

/** Evenly over that time, in the order of the rows: a table that grows by traffic has its old rows first. */
const SERVED = `now() - past.age * (1 - n / $1::float8)`;

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

/**
 * Leaves in `table` what so many finished checkouts leave there: copies of one that was made through the service.
 * @param days over which they came
 */
export async function fill(sql: Sql, table: string, rows: number, days: number): Promise<void> {
  const columns = (await sql(COLUMNS, [table])) as { name: string }[];
  const names = columns.map(({ name }) => name);
  const values = names.map((name) => GROWN[table]![name] ?? `model.${name}`);
  await sql(
    `INSERT INTO ${table} (${names.join(', ')}) OVERRIDING SYSTEM VALUE
     SELECT ${values.join(', ')}
       FROM (SELECT * FROM ${table} LIMIT 1) AS model, generate_series(1, $1::int) AS n,
            (SELECT make_interval(days => $2::int)) AS past (age)`,
    [rows, days],
  );
}

const COLUMNS = `
  SELECT quote_ident(attname) AS name FROM pg_attribute
   WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`;
