import { DataSource } from 'typeorm';
import type { Timings } from '../config/config.js';
import { dataSourceOptions } from './data-source.js';
import { migrations } from './schema.js';

/** Brings the database at `url` to the newest schema and sets the session timeouts of its role. */
export async function migrate(url: string, timings: Pick<Timings, 'lease'>): Promise<string[]> {
  const dataSource = new DataSource(dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations }));
  await dataSource.initialize();
  try {
    const run = await dataSource.runMigrations();
    await applySessionSettings(dataSource, timings);
    return run.map(({ name }) => name);
  } finally {
    await dataSource.destroy();
  }
}

/**
 * Timeouts belong to the role, for this database: they hold for every session, cost no round trip, and pass
 * through PgBouncer. New connections have them.
 */
export async function applySessionSettings(
  dataSource: DataSource,
  { lease }: Pick<Timings, 'lease'>,
): Promise<void> {
  const settings = {
    // No statement may outlive the lease of the attempt that sent it.
    statement_timeout: Math.min(20_000, Math.round(lease * 500)),
    // A phase waits for a few local milliseconds of another; longer is a fault, answered 409 or 503. Above
    // PostgreSQL's deadlock_timeout of 1 s, so that a deadlock is found to be one, and tried again.
    lock_timeout: Math.min(2_000, Math.round(lease * 400)),
    // Nothing is called with a transaction open; one that idles belongs to a process that hangs.
    idle_in_transaction_session_timeout: Math.round(lease * 500),
  };
  for (const [name, milliseconds] of Object.entries(settings)) {
    await dataSource.query(
      `DO $$ BEGIN EXECUTE format('ALTER ROLE %I IN DATABASE %I SET ${name} = %L', current_user, current_database(), '${milliseconds}ms'); END $$`,
    );
  }
}
