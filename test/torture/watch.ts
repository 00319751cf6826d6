import { setTimeout as sleep } from 'node:timers/promises';
import { checkAlways } from './checker.js';
import { gather, type Facts } from './facts.js';
import type { Journal } from './journal.js';
import type { Stage } from './stage.js';
import type { Violation } from './violation.js';

/** Looking takes from what is looked at: a tenth of the time at most. */
const PAUSE_PER_LOOK = 9;
const SHORTEST_PAUSE_MS = 2_000;

export interface Caught {
  readonly found: readonly Violation[];
  readonly facts: Facts;
}

/** Looks again and again, while everything breaks, at what must hold at every moment. @returns the first that does not */
export async function watch(stage: Stage, journal: Journal, until: AbortSignal): Promise<Caught | undefined> {
  while (!until.aborted) {
    const started = performance.now();
    const facts = await gather(stage, journal).catch(() => undefined); // the database is just being crashed
    const found = facts ? checkAlways(facts) : [];
    if (facts && found.length > 0) return { found, facts };
    const pause = Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_LOOK * (performance.now() - started));
    await sleep(pause, undefined, { signal: until }).catch(() => undefined);
  }
  return undefined;
}
