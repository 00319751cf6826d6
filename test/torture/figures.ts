import { FAULT_ACTIONS, POINTS } from './client.js';
import { isDefinitive, isHung, type Journal } from './journal.js';
import type { Stage } from './stage.js';

/** What a run of at least ten minutes must come to. */
const GOAL = { intents: 5_000, kills: 100, restarts: 10, ofEachKind: 20, p99: 5_000 };

export interface Figures {
  readonly intents: number;
  /** Processes of the service that were ended by kill -9. */
  readonly kills: number;
  readonly restarts: number;
  /** How often each kind of fault was met: not what was asked for, but what was done to somebody. */
  readonly met: Readonly<Record<string, number>>;
  /** Milliseconds until an acknowledged answer, of requests that no fault point of their own held up. */
  readonly acknowledged: Quantiles;
}

export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  readonly count: number;
}

export async function figuresOf(stage: Stage, journal: Journal): Promise<Figures> {
  const instances = [...stage.apis, ...stage.workers];
  return {
    intents: journal.intents.length,
    kills: sum(instances.map(({ kills }) => kills)),
    restarts: stage.database.restarts.length,
    met: await metBy(stage),
    acknowledged: quantiles(
      journal.tries.filter((each) => isDefinitive(each) && !isHung(each)).map(({ ms }) => ms),
    ),
  };
}

async function metBy({
  provider,
  providerPath,
  mailbox,
  proxy,
  apis,
  workers,
}: Stage): Promise<Figures['met']> {
  const paused = (instances: typeof apis) => sum(instances.map(({ pauses }) => pauses.length));
  const crashed = sum([...apis, ...workers].map(({ kills, killed }) => kills - killed));
  return {
    ...named('provider', await provider.met()),
    'provider cut off': providerPath.brokenOff,
    ...named('mail', await mailbox.met()),
    'mailbox killed': mailbox.kills,
    ...named('database connection', proxy.met),
    'API paused past its lease': paused(apis),
    'worker paused past its lease': paused(workers),
    ...injected(apis.map((each) => each.log()).join('')),
    'fault crash': crashed,
  };
}

/** Fault points say in the log that they fired; the last words of a process that crashes may be lost. */
function injected(log: string): Record<string, number> {
  const points = [...new Set(Object.values(POINTS).flat())].sort();
  const zeros = [
    ...points.map((point) => `at ${point}`),
    ...FAULT_ACTIONS.map((action) => `fault ${action}`),
  ];
  const counts = Object.fromEntries(zeros.map((name) => [name, 0]));
  for (const [, point, action] of log.matchAll(INJECTED)) {
    counts[`at ${point}`]! += 1;
    counts[`fault ${action}`]! += 1;
  }
  return counts;
}

const INJECTED = /"msg":"fault injected","point":"([^"]+)","action":"([^"]+)"/g;

/** @returns where the run has not come to its goal, a sentence each */
export function shortfalls({ intents, kills, restarts, met, acknowledged }: Figures): string[] {
  const rare = Object.entries(met).filter(([, count]) => count < GOAL.ofEachKind);
  return [
    ...(intents < GOAL.intents ? [`${intents} intents, not ${GOAL.intents}`] : []),
    ...(kills < GOAL.kills ? [`${kills} kill -9, not ${GOAL.kills}`] : []),
    ...(restarts < GOAL.restarts ? [`${restarts} database restarts, not ${GOAL.restarts}`] : []),
    ...rare.map(([kind, count]) => `${kind}: met ${count} times, not ${GOAL.ofEachKind}`),
    ...(acknowledged.p99 > GOAL.p99 ? [`p99 of an acknowledged answer is above ${GOAL.p99} ms`] : []),
  ];
}

export function quantiles(values: number[]): Quantiles {
  const sorted = values.sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), longest: at(1), count: sorted.length };
}

function named(subject: string, counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([kind, count]) => [`${subject} ${kind}`, count]));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
