import { parseArgs } from 'node:util';
import { openBooks } from '../books-since.js';
import { measure } from '../measure.js';
import { onStage, type Outcome, type Row } from '../outcome.js';
import { figuresOf, wrongAnswers } from '../report.js';
import { checkOut, startService } from '../service.js';
import type { Stage } from '../stage.js';
import { claimAbandoned, drain } from './backlog.js';

import { goals, middle } from './goals.js';
import { grow } from './grow.js';
import { serve, type Grown } from './serve.js';
import { sizes } from './sizes.js';

const { values: options } = parseArgs({
  options: {
    /** Finished checkouts in the tables, one database for each number; the first is what the others are compared with. */
    rows: { type: 'string', default: '0,1000000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '8' },
    connections: { type: 'string', default: '16' },
    /** Messages that wait for the relay. */
    messages: { type: 'string', default: '100000' },
    /** Keys that wait for the completer. */
    abandoned: { type: 'string', default: '10000' },
    /** As PostgreSQL comes: what does not fit is read from the system's cache. */
    'shared-buffers': { type: 'string', default: '128MB' },
    json: { type: 'string' },
  },
});
const how = {
  rounds: Number(options.rounds),
  connections: Number(options.connections),
  seconds: Number(options.seconds),
};

const ABANDONED_CLAIMS = 200;

await onStage(run, { json: options.json, postgres: { shared_buffers: options['shared-buffers'] } });

async function run(stage: Stage): Promise<Outcome> {
  const all: Grown[] = [];
  for (const rows of options.rows.split(',').map(Number)) all.push(await grown(stage, rows));
  const books = await Promise.all(all.map((each) => openBooks(stage, each)));
  for (const each of all) await measure(stage, each, how); // warms up
  const served = await serve(stage, all, how);
  const backlogs: Row[] = [];
  for (const each of all) backlogs.push(await backlog(each));
  const wrong = await Promise.all(books.map((agree) => agree()));
  const sized = await Promise.all(all.map(({ name, database }) => sizes(database, name)));
  const names = [...new Set(served.windows.map(({ name }) => name))];
  return {
    tables: {
      [`Checkouts, shared_buffers ${options['shared-buffers']}`]: names.map((name) =>
        figuresOf(middle(served.windows, name)),
      ),
      'The reaper meanwhile': served.reaped.map((each) => ({ ...each })),
      [`${options.messages} messages and ${options.abandoned} abandoned keys, among what has finished`]:
        backlogs,
      'At the end': sized.flat(),
    },
    goals: [...goals(all, served), ...backlogs.map(drainGoal)],
    findings: [...wrong.flat(), ...wrongAnswers(served.windows)],
  };
}

async function grown(stage: Stage, rows: number): Promise<Grown> {
  const service = await startService(stage, `rows-${rows}`);
  if ((await checkOut(service)) !== 201) throw new Error('The checkout that all are copied from failed');
  const begun = performance.now();
  await grow(service.database, rows);
  console.error(`${service.name}: loaded in ${((performance.now() - begun) / 1_000).toFixed(0)} s`);
  return { ...service, rows };
}

async function backlog(service: Grown): Promise<Row> {
  const keys = await claimAbandoned(service, Number(options.abandoned), ABANDONED_CLAIMS);
  const { perSecond, sent, claims } = await drain(service.database, Number(options.messages));
  return {
    name: service.name,
    'completer claim p50 ms': keys.p50,
    'most ms': keys.most,
    'relay claim p50 ms': claims.p50,
    'its most ms': claims.most,
    'messages sent': sent,
    'messages/s': perSecond,
  };
}

function drainGoal(row: Row): { goal: string; figure: number; atLeast: number } {
  return { goal: `${row['name']}: messages/s`, figure: Number(row['messages/s']), atLeast: 10_000 };
}
