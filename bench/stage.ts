import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { migrate } from '../src/database/migrate.js';
import { destroyPostgres, ensureDatabase, startPostgres, type Postgres } from '../src/sandbox/postgres.js';
import { asService } from '../test/support/app-role.js';
import { freePort } from '../test/support/free-port.js';
import { seedTenants } from '../test/support/start-api.js';

/** As published: the lease that a production service has. */
export const LEASE_SECONDS = 30;

/** PostgreSQL as it comes, fsync and all, and a provider that answers at once. */
export class Stage {
  private constructor(
    private readonly folder: string,
    private readonly postgres: Postgres,
    private readonly provider: ChildProcess,
    readonly providerUrl: string,
  ) {}

  /** @param settings of PostgreSQL, where a measurement is about another one than it comes with */
  static async set(settings: Readonly<Record<string, string>> = {}): Promise<Stage> {
    const folder = join(await mkdtemp(join(tmpdir(), 'checkout-bench-')), 'postgres');
    const postgres = await startPostgres({
      folder,
      port: await freePort(),
      settings: { max_connections: '200', ...settings },
    });
    const provider = spawn(
      process.execPath,
      ['--import', './test/torture/register.mjs', 'bench/programs/provider.ts'],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const [line] = (await once(provider.stdout, 'data')) as [Buffer];
    return new Stage(folder, postgres, provider, line.toString().trim());
  }

  get postgresPid(): number {
    return Number(readFileSync(join(this.folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  }

  get providerPid(): number {
    return this.provider.pid!;
  }

  /** A database of its own for each contender, so that none grows by another's work. */
  async database(name: string): Promise<BenchDatabase> {
    await ensureDatabase(this.postgres, name);
    const url = this.postgres.url(name);
    await migrate(url, { lease: LEASE_SECONDS, appUrl: asService(url) });
    await seedTenants(url);
    return new BenchDatabase(url);
  }

  /** How many keys the provider has charged under, by their prefix. */
  async charged(): Promise<Record<string, number>> {
    return (await fetch(this.providerUrl)).json() as Promise<Record<string, number>>;
  }

  /** From now on the provider takes so long, in ms: as likely the least, the most or anything between. */
  async slowDown(least: number, most = least): Promise<void> {
    await fetch(`${this.providerUrl}/_delay`, { method: 'POST', body: JSON.stringify([least, most]) });
  }

  async close(): Promise<void> {
    this.provider.kill();
    await destroyPostgres(this.folder);
    await rm(dirname(this.folder), { recursive: true, force: true });
  }
}

/** What PostgreSQL has counted so far. */
export interface Counters {
  readonly writes: number;
  readonly walBytes: number;
  readonly fsyncs: number;
}

export class BenchDatabase {
  private readonly client: pg.Pool;

  constructor(readonly url: string) {
    const options = '-c statement_timeout=0 -c lock_timeout=0';
    this.client = new pg.Pool({ connectionString: url, max: 1, application_name: 'bench', options });
    this.client.on('error', () => undefined); // it idled when PostgreSQL was stopped
  }

  async sql<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.client.query<Row & object>(text, values)).rows;
  }

  /** Of the whole server: nothing else is at work in it meanwhile. */
  async counters(): Promise<Counters> {
    const [row] = await this.sql<Record<keyof Counters, string>>(COUNTERS);
    return { writes: Number(row!.writes), walBytes: Number(row!.walBytes), fsyncs: Number(row!.fsyncs) };
  }

  close(): Promise<void> {
    return this.client.end();
  }
}

/** A transaction that wrote has taken an id: the difference is how many did. */
const COUNTERS = `
  SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS writes,
         pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS "walBytes",
         (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal') AS fsyncs`;
