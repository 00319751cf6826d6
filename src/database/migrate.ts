import { DataSource } from 'typeorm';
import type { Timings } from '../config/timings.js';
import { dataSourceOptions } from './data-source.js';
import { migrations } from './schema.js';
import { sessionTimeouts } from './timeouts.js';

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
  for (const [name, milliseconds] of Object.entries(sessionTimeouts(lease))) {
    await dataSource.query(
      `DO $$ BEGIN EXECUTE format('ALTER ROLE %I IN DATABASE %I SET ${name} = %L', current_user, current_database(), '${milliseconds}ms'); END $$`,
    );
  }
}
