import { parseArgs } from 'node:util';
import { openBooks } from '../books-since.js';
import { load, type Window } from '../load.js';
import { onStage, quantile, type Outcome, type Row } from '../outcome.js';
import { residentMb } from '../process.js';
import { startService, type Service } from '../service.js';
import type { Stage } from '../stage.js';
import { watchSessions, watchVitals } from '../watch.js';
import { growth } from './trend.js';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    /** Of what the service answers at most on this machine, measured before. */
    share: { type: 'string', default: '0.7' },
    /** Of one window; each is a row. */
    seconds: { type: 'string', default: '30' },
    connections: { type: 'string', default: '16' },
    json: { type: 'string' },
  },
});
const [seconds, connections] = [Number(options.seconds), Number(options.connections)];

const MEASURE_SECONDS = 10;

/** Until the code is compiled and the heap has its size: what grows after that grows for ever. */
const SETTLES_IN = 0.2;

interface Seen extends Window {
  readonly rssMb: number;
  readonly heapMb: number;
  readonly eventLoopP99Ms: number;
  readonly sessions: number;
}

await onStage(run, { json: options.json });

async function run(stage: Stage): Promise<Outcome> {
  const service = await startService(stage, 'ours');
  await window(service, MEASURE_SECONDS); // warms up
  const agree = await openBooks(stage, service);
  const { perSecond: most } = await window(service, MEASURE_SECONDS);
  const rate = Math.round(most * Number(options.share));
  console.error(`${most.toFixed(0)}/s at most; from now on ${rate}/s`);
  const seen: Seen[] = [];
  const windows = Math.max(5, Math.ceil((Number(options.minutes) * 60) / seconds));
  for (let n = 1; n <= windows; n++) {
    seen.push(await look(service, rate));
    console.error(`${n} of ${windows}: p99 ${seen.at(-1)!.p99} ms, ${seen.at(-1)!.rssMb} MB`);
  }
  const wrong = seen.reduce((sum, each) => sum + each.wrong, 0);
  const findings = [...(await agree()), ...(wrong > 0 ? [`${wrong} answers were wrong`] : [])];
  await Promise.all([service.program.stop(), service.database.close()]);
  return {
    tables: { [`At ${rate} checkouts a second`]: seen.map(rowOf) },
    goals: goals(seen, rate),
    findings,
  };
}

function window({ program, request }: Service, length: number, rate?: number): Promise<Window> {
  const { path, ...rest } = request;
  const paced = rate === undefined ? {} : { rate };
  return load({ ...rest, url: program.url + path, connections, seconds: length, ...paced });
}

async function look(service: Service, rate: number): Promise<Seen> {
  const [sessions, vitals] = [watchSessions(service.database, 200), watchVitals(service.program.url)];
  const measured = await window(service, seconds, rate);
  const { leastHeapMb, mostEventLoopP99Ms } = await vitals.end();
  return {
    ...measured,
    rssMb: residentMb(service.program.pid),
    heapMb: leastHeapMb,
    eventLoopP99Ms: mostEventLoopP99Ms,
    sessions: (await sessions.end()).most,
  };
}

function rowOf(seen: Seen): Row {
  const { perSecond, p50, p99, rssMb, heapMb, eventLoopP99Ms, sessions } = seen;
  return {
    'per second': perSecond,
    'p50 ms': p50,
    'p99 ms': p99,
    'RSS MB': rssMb,
    'heap MB, least': heapMb,
    'event loop p99 ms': eventLoopP99Ms,
    sessions,
  };
}

function goals(all: readonly Seen[], rate: number) {
  const seen = all.slice(Math.floor(all.length * SETTLES_IN));
  const of = (figure: (each: Seen) => number) => seen.map(figure);
  return [
    {
      goal: 'answered ÷ asked for',
      figure:
        quantile(
          of((each) => each.perSecond),
          0.5,
        ) / rate,
      atLeast: 0.97,
    },
    {
      goal: 'RSS at the end ÷ at the beginning, by its trend',
      figure: growth(of((each) => each.rssMb)),
      atMost: 1.1,
    },
    {
      goal: 'what the heap comes down to at the end ÷ at the beginning, by its trend',
      figure: growth(of((each) => each.heapMb)),
      atMost: 1.1,
    },
    {
      goal: 'p99 at the end ÷ at the beginning, by its trend',
      figure: growth(of((each) => each.p99)),
      atMost: 1.2,
    },
    { goal: 'event loop p99 ms, most', figure: Math.max(...of((each) => each.eventLoopP99Ms)), atMost: 50 },
    {
      goal: 'sessions, most: the pool and the reserved one',
      figure: Math.max(...of((each) => each.sessions)),
      atMost: 11,
    },
  ];
}
