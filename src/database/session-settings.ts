import type { DataSource } from 'typeorm';
import type { Timings } from '../config/timings.js';
import { sessionTimeouts } from './timeouts.js';

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
