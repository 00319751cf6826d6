import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openBooks } from '../books-since.js';
import { load, type Window } from '../load.js';
import { onStage, quantile, type Outcome, type Row } from '../outcome.js';
import { startService, type Service } from '../service.js';
import type { Stage } from '../stage.js';
import { GLOBEX } from '../../test/support/start-api.js';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '8' },
    /** What a tenant may ask for in a second. */
    limit: { type: 'string', default: '50' },
    /** What the flood asks for in a second. */
    flood: { type: 'string', default: '2000' },
    json: { type: 'string' },
  },
});
const seconds = Number(options.seconds);

/** Of the other tenant, which stays far below the limit. */
const OTHER = { connections: 8, rate: 40 };

/** So that the bucket of the flood is empty when the other one begins. */
const FLOOD_COMES_BEFORE_MS = 1_500;

const FLOODS = {
  nothing: undefined,
  'a flood of one key': randomUUID(),
  'a flood of new keys': () => randomUUID(),
} as const;

type Beside = keyof typeof FLOODS;

interface Seen {
  readonly beside: Beside;
  readonly other: Window;
  readonly flood: Window | undefined;
}

await onStage(run, { json: options.json });

/** One tenant asks for far more than it may have; another one, on the same process, for little. */
async function run(stage: Stage): Promise<Outcome> {
  const service = await startService(stage, 'flooded', { TENANT_REQUESTS_PER_SECOND: options.limit });
  const agree = await openBooks(stage, service);
  await other(service); // warms up
  const seen: Seen[] = [];
  for (let round = 1; round <= Number(options.rounds); round++)
    for (const beside of Object.keys(FLOODS) as Beside[]) seen.push(await serve(service, beside));
  const findings = [...(await agree()), ...seen.flatMap(wrongAnswers)];
  await Promise.all([service.program.stop(), service.database.close()]);
  return { tables: { 'Checkouts of another tenant': seen.map(rowOf) }, goals: goals(seen), findings };
}

async function serve(service: Service, beside: Beside): Promise<Seen> {
  const key = FLOODS[beside];
  const request = { ...service.request, url: service.program.url + service.request.path };
  const flooding =
    key && load({ ...request, key, connections: 64, rate: Number(options.flood), seconds: seconds + 3 });
  await sleep(FLOOD_COMES_BEFORE_MS);
  return { beside, other: await other(service), flood: await flooding };
}

function other({ request, program }: Service): Promise<Window> {
  const headers = { Authorization: `Bearer ${GLOBEX.key}` };
  return load({ ...request, headers, ...OTHER, url: program.url + request.path, seconds });
}

/** The other tenant is served, always; the flood is served or told that it asks for too much. */
function wrongAnswers({ beside, other: served, flood }: Seen): string[] {
  const { 409: inUse = 0, 429: tooMuch = 0 } = flood?.statuses ?? {};
  const wrong = served.wrong + (flood ? flood.wrong - tooMuch - inUse : 0);
  return wrong === 0 ? [] : [`beside ${beside}: ${wrong} answers were wrong`];
}

function rowOf({ beside, other: served, flood }: Seen): Row {
  return {
    beside,
    'per second': served.perSecond,
    'p50 ms': served.p50,
    'p99 ms': served.p99,
    'flood told': flood ? JSON.stringify(flood.statuses) : '',
  };
}

function goals(seen: readonly Seen[]) {
  const p99 = (wanted: Beside) =>
    quantile(
      seen.filter(({ beside }) => beside === wanted).map(({ other: { p99: each } }) => each),
      0.5,
    );
  const alone = p99('nothing');
  return (['a flood of one key', 'a flood of new keys'] as const).map((beside) => ({
    goal: `p99 of another tenant beside ${beside} ÷ alone`,
    figure: p99(beside) / alone,
    atMost: 1.5,
  }));
}
