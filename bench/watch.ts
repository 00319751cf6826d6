import { setTimeout as sleep } from 'node:timers/promises';
import { scrape } from '../test/support/metrics.js';
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
  return watch(everyMs, async () => {
    const [now] = await database.sql<Record<'open' | 'waiting' | 'busy' | 'oldest', number>>(SESSIONS);
    return (seen = {
      most: Math.max(seen.most, now!.open),
      mostWaitingForLocks: Math.max(seen.mostWaitingForLocks, now!.waiting),
      mostBusy: Math.max(seen.mostBusy, now!.busy),
      longestTransaction: Math.max(seen.longestTransaction, now!.oldest),
      looks: seen.looks + 1,
    });
  });
}

/** What a process says of itself. */
export interface Vitals {
  /** A heap grows until it is collected: what it comes down to is what is kept. */
  readonly leastHeapMb: number;
  readonly mostEventLoopP99Ms: number;
}

/** Asks the process at `url` once a second; each answer is about the time since the one before. */
export function watchVitals(url: string): { end(): Promise<Vitals> } {
  let seen: Vitals = { leastHeapMb: Infinity, mostEventLoopP99Ms: 0 };
  return watch(1_000, async () => {
    const told = await scrape(url);
    return (seen = {
      leastHeapMb: Math.min(seen.leastHeapMb, (told.value('nodejs_heap_size_used_bytes') ?? 0) / 1e6),
      mostEventLoopP99Ms: Math.max(
        seen.mostEventLoopP99Ms,
        (told.value('nodejs_eventloop_lag_p99_seconds') ?? 0) * 1_000,
      ),
    });
  });
}

/** Looks again and again. @returns what ends it, with what was seen by then */
function watch<Seen>(everyMs: number, look: () => Promise<Seen>): { end(): Promise<Seen> } {
  let ended = false;
  const looking = (async () => {
    for (;;) {
      const seen = await look();
      if (ended) return seen;
      await sleep(everyMs);
    }
  })();
  return {
    end: () => {
      ended = true;
      return looking;
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
