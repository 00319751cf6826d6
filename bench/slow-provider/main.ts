import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openBooks } from '../books-since.js';
import { load, type Window } from '../load.js';
import { onStage, type Goal, type Outcome, type Row } from '../outcome.js';
import { residentMb } from '../process.js';
import { startService, type Service } from '../service.js';
import type { BenchDatabase, Stage } from '../stage.js';
import { watchSessions, type Sessions } from '../watch.js';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    /** Requests in flight. */
    connections: { type: 'string', default: '500' },
    pool: { type: 'string', default: '10' },
    json: { type: 'string' },
  },
});
const [seconds, connections] = [Number(options.seconds), Number(options.connections)];

/** What the provider takes, in ms; at once in the end: what has piled up must not stay. */
const LATENCIES = [
  [0, 0],
  [200, 200],
  [200, 2_000],
  [2_000, 2_000],
  [0, 0],
] as const;

interface Seen {
  readonly latency: readonly [least: number, most: number];
  readonly window: Window;
  readonly sessions: Sessions;
  readonly rssMb: number;
  /** Refused without saying when to come back. */
  readonly rude: number;
}

await onStage(run, { json: options.json });

async function run(stage: Stage): Promise<Outcome> {
  const service = await startService(stage, 'ours', { DATABASE_POOL_SIZE: options.pool });
  const agree = await openBooks(stage, service);
  await serve(stage, service, [0, 0]); // warms up
  const seen: Seen[] = [];
  for (const latency of LATENCIES) {
    seen.push(await serve(stage, service, latency));
    console.error(`${latency.join(' to ')} ms: ${seen.at(-1)!.window.perSecond.toFixed(0)}/s`);
  }
  const findings = [...(await agree()), ...seen.flatMap(wrongAnswers)];
  await Promise.all([service.program.stop(), service.database.close()]);
  const title = `${connections} requests in flight on ${options.pool} connections to the database`;
  return { tables: { [title]: seen.map(rowOf) }, goals: goals(seen), findings };
}

async function serve(stage: Stage, service: Service, latency: Seen['latency']): Promise<Seen> {
  const { path, ...request } = service.request;
  let rude = 0;
  await stage.slowDown(...latency);
  const watching = watchSessions(service.database);
  const window = await load({
    ...request,
    url: service.program.url + path,
    connections,
    seconds,
    onAnswer: (status, headers) => (rude += Number(status === 503 && !hasRetryAfter(headers))),
  });
  const [sessions, rssMb] = [await watching.end(), residentMb(service.program.pid)];
  await untilDone(service.database);
  return { latency, window, sessions, rssMb, rude };
}

function hasRetryAfter(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'retry-after');
}

/** The load has hung up on what was in flight; the service finishes it all the same. */
async function untilDone(database: BenchDatabase): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    await sleep(200);
    const running = await database.sql("SELECT 1 FROM idempotency_keys WHERE status = 'in_progress' LIMIT 1");
    if (running.length === 0) return;
  }
}

/** Done, or refused at the claim: no other answer will do, and none may be rude. */
function wrongAnswers({ latency, window, rude }: Seen): string[] {
  const { 503: refused = 0 } = window.statuses;
  const wrong = window.wrong - refused + rude;
  return wrong === 0 ? [] : [`${latency.join(' to ')} ms: ${wrong} answers were wrong`];
}

/** A second, if each connection asks again as soon as it is answered. */
function allowed([least, most]: Seen['latency']): number {
  return connections / ((least + most) / 2_000);
}

function rowOf({ latency, window, sessions, rssMb }: Seen): Row {
  return {
    'provider takes ms': latency.join(' to '),
    'allows per second': allowed(latency),
    'per second': window.perSecond,
    'p50 ms': window.p50,
    'p99 ms': window.p99,
    'refused 503': window.statuses[503] ?? 0,
    'sessions in a transaction, most': sessions.mostBusy,
    'longest transaction ms': sessions.longestTransaction,
    'RSS MB': rssMb,
  };
}

function goals(seen: readonly Seen[]): Goal[] {
  const [before, , , slowest, after] = seen as [Seen, Seen, Seen, Seen, Seen];
  const slow = seen.filter(({ latency: [least] }) => least > 0);
  const most = Math.max(...seen.map(({ window }) => window.perSecond));
  return [
    ...slow.map(({ latency, window }) => ({
      goal: `${latency.join(' to ')} ms: per second ÷ what provider and machine allow`,
      figure: window.perSecond / Math.min(allowed(latency), most),
      atLeast: 0.9,
    })),
    {
      goal: 'longest transaction ms while a call takes 2,000',
      figure: slowest.sessions.longestTransaction,
      atMost: 1_000,
    },
    { goal: 'RSS, slowest ÷ at once', figure: slowest.rssMb / before.rssMb, atMost: 1.5 },
    {
      goal: 'per second, at once again ÷ before',
      figure: after.window.perSecond / before.window.perSecond,
      atLeast: 0.9,
    },
  ];
}
