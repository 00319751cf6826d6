import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchDatabase } from './stage.js';

/** What the sessions of the service were seen at, by looking again and again. */
export interface Sessions {
  /** At once, at most. */
  readonly most: number;
  readonly mostWaitingForLocks: number;
  readonly mostBusy: number;
  /** The oldest transaction that was open, in ms. */
  readonly longestTransaction: number;
  readonly looks: number;
}

/** Looks at the sessions of this database until it is told to end. */
export function watchSessions(database: BenchDatabase, everyMs = 20): { end(): Promise<Sessions> } {
  let seen: Sessions = { most: 0, mostWaitingForLocks: 0, mostBusy: 0, longestTransaction: 0, looks: 0 };
  let ended = false;
  const looking = (async () => {
    while (!ended) {
      const [now] = await database.sql<Record<'open' | 'waiting' | 'busy' | 'oldest', number>>(SESSIONS);
      seen = {
        most: Math.max(seen.most, now!.open),
        mostWaitingForLocks: Math.max(seen.mostWaitingForLocks, now!.waiting),
        mostBusy: Math.max(seen.mostBusy, now!.busy),
        longestTransaction: Math.max(seen.longestTransaction, now!.oldest),
        looks: seen.looks + 1,
      };
      await sleep(everyMs);
    }
  })();
  return {
    end: async () => {
      ended = true;
      await looking;
      return seen;
    },
  };
}

const SESSIONS = `
  SELECT count(*)::int AS open,
         count(*) FILTER (WHERE wait_event_type = 'Lock')::int AS waiting,
         count(*) FILTER (WHERE xact_start IS NOT NULL)::int AS busy,
         coalesce(1000 * max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float8 AS oldest
    FROM pg_stat_activity
   WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
