import pg from 'pg';
import { migrate } from '../../src/database/migrate.js';
import { destroyPostgres, ensureDatabase, startPostgres, type Postgres } from '../../src/sandbox/postgres.js';
import { asService } from '../support/app-role.js';
import { freePort } from '../support/free-port.js';
import { seedTenants } from '../support/start-api.js';
import { AUDIT } from './audit.js';
import type { Spell } from './instance.js';

const DATABASE = 'torture';

/** A PostgreSQL of the run's own, reached directly: the harness itself must not suffer from its faults. */
export class TortureDatabase {
  /** From the crash until it took sessions again. */
  readonly restarts: Spell[] = [];
  private crashing: Promise<void> | undefined;
  private pool!: pg.Pool;

  private constructor(
    private readonly folder: string,
    private postgres: Postgres,
  ) {
    this.connect();
  }

  static async start(folder: string, lease: number): Promise<TortureDatabase> {
    const postgres = await startPostgres({ folder, port: await freePort(), settings: SETTINGS });
    await ensureDatabase(postgres, DATABASE);
    const database = new TortureDatabase(folder, postgres);
    await migrate(database.url, { lease, appUrl: asService(database.url) });
    await seedTenants(database.url);
    await database.sql(AUDIT);
    return database;
  }

  get port(): number {
    return this.postgres.port;
  }

  get url(): string {
    return this.postgres.url(DATABASE);
  }

  async sql<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row & object>(text, values)).rows;
  }

  /** The rows of all of them, as they were at one moment: what is always true is true in it. */
  async snapshot(queries: readonly string[]): Promise<unknown[][]> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const found: unknown[][] = [];
      for (const query of queries) found.push((await client.query<object>(query)).rows);
      await client.query('COMMIT');
      client.release();
      return found;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** `pg_ctl stop -m immediate` and start: sessions end without a word, and recovery follows. */
  crash(): Promise<void> {
    this.crashing ??= this.restart().finally(() => (this.crashing = undefined));
    return this.crashing;
  }

  private async restart(): Promise<void> {
    const from = Date.now();
    await this.pool.end().catch(() => undefined);
    await this.postgres.stop('immediate');
    this.postgres = await startPostgres({ folder: this.folder, port: this.port, settings: SETTINGS });
    this.connect();
    this.restarts.push({ from, to: Date.now() });
  }

  async close(): Promise<void> {
    await this.pool.end();
    await destroyPostgres(this.folder);
  }

  /** The role's timeouts are for the service: what is asked here takes as long as it takes. */
  private connect(): void {
    const options = '-c statement_timeout=0 -c lock_timeout=0';
    const pool = { connectionString: this.url, max: 2, application_name: 'torture', options };
    this.pool = new pg.Pool(pool);
    this.pool.on('error', () => undefined);
  }
}

/** The machine does not crash, only its processes: what PostgreSQL has written is there again without fsync. */
const SETTINGS = { max_connections: '200', fsync: 'off', full_page_writes: 'off' };
