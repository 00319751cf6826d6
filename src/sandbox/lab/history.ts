import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** What the lab watches: everything that a checkout writes. */
const TABLES = [
  'idempotency_keys',
  'orders',
  'charges',
  'ledger_entries',
  'outbox_messages',
  'inbox_messages',
  'reviews',
] as const;

export type TableName = (typeof TABLES)[number];

export type Row = Readonly<Record<string, unknown>>;

/** One version of a row, as it was committed. */
export interface Version {
  readonly seq: number;
  /** Milliseconds since 1970, by the database's clock: when it was written, a moment before its COMMIT. */
  readonly at: number;
  /** Versions with the same one were committed together. */
  readonly tx: string;
  /** The name that the writing process gave its session: `api` or `worker`. */
  readonly process: string;
  readonly table: TableName;
  readonly before: Row | null;
  readonly after: Row | null;
}

/** How long a recording goes on by itself, should the lab die in the middle of a run. */
const RECORDING = '2 minutes';

const CONNECT_WITHIN_MS = 3_000;

/**
 * Every committed version of every row, in order: triggers of the lab's own write them to a schema of its own, and
 * only while a scenario runs. The service knows nothing of it. A poll of the tables would miss what changes twice
 * between two looks.
 */
export class History {
  private readonly pool: pg.Pool;
  private readonly taken = new Set<number>();
  /** How many fenced writes had changed no row. */
  private refused = 0;
  private installed = false;

  constructor(private readonly url: string) {
    this.pool = new pg.Pool({
      ...this.connection(),
      max: 2,
      verify: (client, done) => {
        client.on('error', () => undefined);
        client.query('SET default_transaction_read_only = on', (error) => done(error ?? undefined));
      },
    });
    this.pool.on('error', () => undefined); // a server that restarts ends sessions; the next query opens another
  }

  async begin(): Promise<void> {
    await this.write(async (client) => {
      if (!(await isInstalled(client))) await install(client);
      this.installed = true;
      await client.query(`UPDATE lab.recording SET until = now() + interval '${RECORDING}'`);
      await client.query('DELETE FROM lab.history');
    });
    this.refused = (await this.readRefusals()).refused;
    this.taken.clear();
  }

  async end(): Promise<void> {
    await this.write(async (client) => {
      await client.query("UPDATE lab.recording SET until = '-infinity'");
    });
  }

  /**
   * What was committed since the last time. Numbers are given when a row is written: one that commits late has a low
   * number, so what was taken is remembered rather than how far.
   */
  async news(): Promise<Version[]> {
    const versions = await this.read<Version>(VERSIONS);
    const fresh = versions.filter(({ seq }) => !this.taken.has(seq));
    for (const { seq } of fresh) this.taken.add(seq);
    return fresh;
  }

  /** When a fenced write last changed no row, if that was since the last time this was asked. */
  async refusal(): Promise<number | undefined> {
    if ((await this.readRefusals()).refused <= this.refused) return undefined;
    await sleep(50); // it may have been on its way: a statement is over by then
    const { refused, at } = await this.readRefusals();
    if (refused <= this.refused) return undefined;
    this.refused = refused;
    return at / 1_000;
  }

  private async readRefusals(): Promise<{ refused: number; at: number }> {
    const [row] = await this.read<{ refused: string; at: string }>(REFUSALS);
    return { refused: Number(row?.refused), at: Number(row?.at) };
  }

  /** The one thing the lab changes: it makes a key of its own old, since nobody wants to wait for three days. */
  async age(tenantId: string, key: string, hours: number): Promise<void> {
    await this.write(async (client) => {
      await client.query(AGE, [tenantId, key, hours]);
    });
  }

  read<Result>(sql: string, values: unknown[] = []): Promise<Result[]> {
    return this.pool.query(sql, values).then(({ rows }) => rows as Result[]);
  }

  /** Takes everything of the lab out of the database. */
  async close(): Promise<void> {
    if (this.installed)
      await this.write(async (client) => {
        await client.query('DROP SCHEMA IF EXISTS lab CASCADE');
      }).catch(() => undefined); // a database that is gone keeps it, and it records nothing
    await this.pool.end();
  }

  private connection() {
    return {
      connectionString: this.url,
      application_name: 'lab',
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
    };
  }

  private async write(work: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = new pg.Client(this.connection());
    client.on('error', () => undefined);
    await client.connect();
    await work(client).finally(() => client.end());
  }
}

async function isInstalled(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ count: number }>(
    "SELECT count(*)::int AS count FROM pg_trigger WHERE tgname IN ('lab_history', 'lab_fenced', 'lab_passed')",
  );
  return rows[0]?.count === TABLES.length + 2;
}

async function install(client: pg.Client): Promise<void> {
  await client.query(SCHEMA);
  for (const table of TABLES) await client.query(triggerOn(table));
  await client.query(FENCE_TRIGGERS);
}

/**
 * The functions are carried out as the owner of the schema, for a role that may do nothing in it.
 *
 * A write that the fence refuses is rolled back, and leaves no row behind. Sequences are not rolled back: they count the
 * fenced writes that began and those that changed a row, and keep the time (in microseconds) of the last that began.
 */
const SCHEMA = `
DROP SCHEMA IF EXISTS lab CASCADE;
CREATE SCHEMA lab;
CREATE TABLE lab.recording (until timestamptz NOT NULL);
INSERT INTO lab.recording VALUES ('-infinity');
CREATE TABLE lab.history (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
  process text NOT NULL DEFAULT current_setting('application_name'),
  table_name text NOT NULL,
  before json,
  after json
);
CREATE SEQUENCE lab.last_fenced;
CREATE SEQUENCE lab.fenced;
CREATE SEQUENCE lab.passed;

CREATE FUNCTION lab.record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF EXISTS (SELECT FROM lab.recording WHERE until > now()) THEN
    INSERT INTO lab.history (table_name, before, after) VALUES (TG_TABLE_NAME,
      CASE WHEN TG_OP <> 'INSERT' THEN to_json(OLD) END, CASE WHEN TG_OP <> 'DELETE' THEN to_json(NEW) END);
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION lab.note_fenced() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF current_query() LIKE '%AND owner = $3 AND version = $4%' THEN
    PERFORM nextval('lab.fenced'), setval('lab.last_fenced', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION lab.note_passed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF current_query() LIKE '%AND owner = $3 AND version = $4%' AND EXISTS (SELECT FROM changed) THEN
    PERFORM nextval('lab.passed');
  END IF;
  RETURN NULL;
END $$;`;

const triggerOn = (table: TableName) => `
CREATE TRIGGER lab_history AFTER INSERT OR UPDATE OR DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION lab.record()`;

/** A fence that fails does so before anything that comes after the statement. */
const FENCE_TRIGGERS = `
CREATE TRIGGER lab_fenced BEFORE UPDATE ON idempotency_keys FOR EACH STATEMENT EXECUTE FUNCTION lab.note_fenced();
CREATE TRIGGER lab_passed AFTER UPDATE ON idempotency_keys REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION lab.note_passed()`;

const REFUSALS = `
SELECT (CASE WHEN fenced.is_called THEN fenced.last_value ELSE 0 END)
     - (CASE WHEN passed.is_called THEN passed.last_value ELSE 0 END) AS refused, last_fenced.last_value AS at
  FROM lab.fenced, lab.passed, lab.last_fenced`;

const VERSIONS = `
SELECT seq::int, extract(epoch FROM at)::float8 * 1000 AS at, tx::text, process, table_name AS table, before, after
  FROM lab.history ORDER BY seq`;

const AGE = `
UPDATE idempotency_keys SET completed_at = completed_at - make_interval(hours => $3),
   expires_at = expires_at - make_interval(hours => $3)
 WHERE tenant_id = $1 AND key = $2 AND status = 'finished'`;
