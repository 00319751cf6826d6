import type { Timings } from '../config/timings.js';
import { sessionTimeouts } from './timeouts.js';

/**
 * Sessions keep their plans. One that was made when a table had a few rows reads all of it, and goes on to when it has
 * ten thousand more, until statistics are taken again: so no plan may, wherever there is an index.
 */
const PLANS = { enable_seqscan: 'off' };

/**
 * A client whose host is gone says nothing any more, and what it had begun would hold its locks for two hours: the server
 * asks after it, and ends the session after 11 s, within a lease.
 */
const GONE_CLIENTS = { tcp_keepalives_idle: '5', tcp_keepalives_interval: '2', tcp_keepalives_count: '3' };

/**
 * They belong to the role, for this database: they hold for every session, cost no round trip, and pass
 * through PgBouncer. New connections have them.
 */
export async function applySessionSettings(
  database: { query(sql: string): Promise<unknown> },
  { lease }: Pick<Timings, 'lease'>,
): Promise<void> {
  const timeouts = Object.entries(sessionTimeouts(lease)).map(([name, ms]) => [name, `${ms}ms`] as const);
  for (const [name, value] of [...timeouts, ...Object.entries({ ...PLANS, ...GONE_CLIENTS })]) {
    await database.query(
      `DO $$ BEGIN EXECUTE format('ALTER ROLE %I IN DATABASE %I SET ${name} = %L', current_user, current_database(), '${value}'); END $$`,
    );
  }
}
