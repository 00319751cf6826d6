import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openBooks } from '../books-since.js';
import { load, type Window } from '../load.js';
import { onStage, quantile, type Outcome, type Row } from '../outcome.js';
import { checkOut, startService, type Service } from '../service.js';
import type { Stage } from '../stage.js';
import { watchSessions, type Sessions } from '../watch.js';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '8' },
    /** Clients that buy one thing after the other, each under a key of its own. */
    connections: { type: 'string', default: '16' },
    /** Requests with one key, all at once. */
    crowd: { type: 'string', default: '1000' },
    json: { type: 'string' },
  },
});
const [seconds, connections, crowd] = [options.seconds, options.connections, options.crowd].map(Number) as [
  number,
  number,
  number,
];

/** So that the others are at full speed, and the crowd's connections stand. */
const CROWD_COMES_AFTER_MS = 1_000;

type Beside = 'nobody' | 'a crowd with many keys' | 'a crowd with one key';

interface Seen {
  readonly beside: Beside;
  readonly others: Window;
  readonly crowd: Window | undefined;
  readonly sessions: Sessions;
}

await onStage(run, { json: options.json });

async function run(stage: Stage): Promise<Outcome> {
  const service = await startService(stage, 'ours');
  await load({ ...service.request, url: service.program.url + service.request.path, connections, seconds });
  const agree = await openBooks(stage, service);
  const seen: Seen[] = [];
  const findings: string[] = [];
  for (let round = 1; round <= Number(options.rounds); round++) {
    for (const beside of ['nobody', 'a crowd with many keys', 'a crowd with one key'] as const) {
      const key = randomUUID();
      seen.push(await serve(service, beside, key));
      if (beside === 'a crowd with one key') findings.push(...(await oncePerKey(service, key)));
    }
  }
  findings.push(...(await agree()), ...seen.flatMap(wrongAnswers));
  await Promise.all([service.program.stop(), service.database.close()]);
  return { tables: { 'Checkouts under keys of their own': seen.map(rowOf) }, goals: goals(seen), findings };
}

async function serve(service: Service, beside: Beside, key: string): Promise<Seen> {
  const request = { ...service.request, url: service.program.url + service.request.path };
  const watching = watchSessions(service.database);
  const others = load({ ...request, connections, seconds });
  await sleep(CROWD_COMES_AFTER_MS);
  const comes = { ...request, connections: crowd, seconds: 30, amount: crowd };
  const answers =
    beside === 'nobody'
      ? undefined
      : await load(beside === 'a crowd with one key' ? { ...comes, key } : comes);
  return { beside, others: await others, crowd: answers, sessions: await watching.end() };
}

/** @returns a sentence unless the key led to one order and one charge, and has its reply */
async function oncePerKey(service: Service, key: string): Promise<string[]> {
  const status = await checkOut(service, key);
  const [made] = await service.database.sql<{ count: number }>(
    'SELECT count(*)::int AS count FROM charges WHERE idempotency_key = $1',
    [key],
  );
  return status === 201 && made!.count === 1
    ? []
    : [`The hot key: ${status}, and ${made!.count} charges instead of one`];
}

/** A crowd may be told that its key is in use; nothing else. */
function wrongAnswers({ beside, others, crowd: told }: Seen): string[] {
  const { 409: inUse = 0 } = told?.statuses ?? {};
  const wrong = others.wrong + (told ? told.wrong - (beside === 'a crowd with one key' ? inUse : 0) : 0);
  return wrong === 0 ? [] : [`beside ${beside}: ${wrong} answers were wrong`];
}

function rowOf({ beside, others, crowd: told, sessions }: Seen): Row {
  return {
    beside,
    'per second': others.perSecond,
    'p99 ms': others.p99,
    'crowd p50 ms': told?.p50 ?? '',
    'crowd p99 ms': told?.p99 ?? '',
    'crowd told': told ? JSON.stringify(told.statuses) : '',
    'wait for locks, most': sessions.mostWaitingForLocks,
    'longest transaction ms': sessions.longestTransaction,
  };
}

function goals(seen: readonly Seen[]) {
  const p99 = (beside: Beside, of: (each: Seen) => number) =>
    quantile(seen.filter((each) => each.beside === beside).map(of), 0.5);
  const [alone, many, one] = (['nobody', 'a crowd with many keys', 'a crowd with one key'] as const).map(
    (beside) => p99(beside, ({ others }) => others.p99),
  ) as [number, number, number];
  return [
    {
      goal: 'p99 ms of a crowd with one key',
      figure: p99('a crowd with one key', (each) => each.crowd!.p99),
      atMost: 1_000,
    },
    { goal: 'p99 of other keys ÷ alone', figure: one / alone, atMost: 2 },
    { goal: 'p99 of other keys ÷ beside as many requests with many keys', figure: one / many, atMost: 1 },
  ];
}
