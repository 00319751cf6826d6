import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { copyBuild } from './build-copy.js';
import { checkAtRest } from './checker.js';
import { Client } from './client.js';
import { Dice } from './dice.js';
import { gather } from './facts.js';
import { figuresOf, shortfalls, type Figures } from './figures.js';
import { drain, heal } from './healing.js';
import { Journal } from './journal.js';
import { mutate } from './mutants.js';
import { Nemesis } from './nemesis.js';
import { Operator } from './operator.js';
import { counts, progress, violations } from './report.js';
import { setStage, type Stage } from './stage.js';
import type { Violation } from './violation.js';
import { watch } from './watch.js';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    clients: { type: 'string', default: '12' },
    /** One of `mutants.ts`: the run must then find something. */
    mutant: { type: 'string' },
    /** Keeps the logs of the processes also where nothing was found. */
    keep: { type: 'boolean', default: false },
  },
});

const MINUTES = Number(options.minutes);

/** From this on a run must have met enough of everything. */
const WHOLE_RUN_MINUTES = 10;

/** Once all is well, everything must come to its end within this. */
const HEALED_WITHIN_SECONDS = 30;

console.log(`torture: ${options.minutes} minutes, seed ${options.seed}`);
const build = await copyBuild(options.mutant ?? 'real');
if (options.mutant) await mutate(build, options.mutant);
const stage = await setStage(build);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stage.close(true).finally(() => process.exit(130)));
let found: Violation[] | undefined; // undefined: the run itself failed
try {
  found = await torture(stage);
} finally {
  const keepLogs = options.keep || (found?.length !== 0 && options.mutant === undefined);
  await stage.close(keepLogs);
  if (keepLogs) console.log(`the processes' logs: ${stage.folder}`);
  await rm(build, { recursive: true, force: true });
}
console.log(found.length === 0 ? '0 violations' : `${found.length} violations (seed ${options.seed})`);
process.exit(found.length === 0 ? 0 : 1);

async function torture(stage: Stage): Promise<Violation[]> {
  const dice = new Dice(Number(options.seed));
  const journal = new Journal();
  const giveUp = new AbortController();
  const stopping = new AbortController();
  const stop = stopping.signal;
  const over = setTimeout(() => stopping.abort(), MINUTES * 60_000);
  const nemesis = new Nemesis(stage, journal, dice.fork());
  const operator = new Operator(stage, dice.fork());
  const clients = Array.from({ length: Number(options.clients) }, () =>
    new Client(stage, journal, dice.fork(), stop, giveUp.signal).run(),
  );
  const operating = operator.run(giveUp.signal);
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1_000;
  const lines = setInterval(() => console.log(progress(journal, seconds(), stage)), 5_000);
  const [early] = await Promise.all([
    watch(stage, journal, stop).then((found) => {
      clearTimeout(over);
      stopping.abort();
      return found;
    }),
    nemesis.run(stop),
  ]);
  clearInterval(lines);
  if (early) {
    console.log(`a promise was broken within ${seconds().toFixed(0)} s`);
    console.log(violations(early.found, early.facts));
    giveUp.abort();
    await Promise.allSettled([...clients, operating]);
    return [...early.found];
  }
  await heal(stage);
  const [{ left, seconds: toTheEnd }] = await Promise.all([
    drain(stage, HEALED_WITHIN_SECONDS),
    patiently(clients, giveUp),
  ]);
  giveUp.abort();
  await operating;
  console.log(`healed; all came to an end after ${toTheEnd.toFixed(1)} s`);
  await sleep(1_000); // a mail or event that is on its way
  const facts = await gather(stage, journal);
  const accidents = operator.accidents.map((what) => ({ what: `the operator was answered 500: ${what}` }));
  const found = [...unfinished(left), ...collapsed(stage), ...accidents, ...checkAtRest(facts)];
  const figures = await figuresOf(stage, journal);
  console.log(counts(figures, journal, stage, operator.decided));
  if (found.length > 0) console.log(violations(found, facts));
  return [...found, ...fellShort(figures)];
}

/** In a short run it is only told. */
function fellShort(figures: Figures): Violation[] {
  const missing = shortfalls(figures);
  if (missing.length === 0) return [];
  const whole = MINUTES >= WHOLE_RUN_MINUTES;
  console.log([whole ? 'THE RUN FELL SHORT:' : 'short of a whole run:', ...missing].join('\n  '));
  return whole ? missing.map((what) => ({ what })) : [];
}

/** Clients retry on after the faults have ended; who has no answer by then never gets one. */
async function patiently(clients: readonly Promise<void>[], giveUp: AbortController): Promise<void> {
  const limit = setTimeout(() => giveUp.abort(), HEALED_WITHIN_SECONDS * 1_000);
  await Promise.all(clients);
  clearTimeout(limit);
}

function unfinished(left: Readonly<Record<string, number>>): Violation[] {
  return Object.entries(left).map(([what, count]) => ({
    what: `${count} ${what} ${HEALED_WITHIN_SECONDS} s after all was well`,
  }));
}

function collapsed({ apis, workers }: Stage): Violation[] {
  return [...apis, ...workers].flatMap(({ program, collapses }) =>
    collapses.map((why) => ({ what: `${program.name} ${why}` })),
  );
}
