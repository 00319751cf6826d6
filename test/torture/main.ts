import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { copyBuild } from './build-copy.js';
import { check, type Violation } from './checker.js';
import { Client } from './client.js';
import { Dice } from './dice.js';
import { gather } from './facts.js';
import { drain, heal } from './healing.js';
import { Journal } from './journal.js';
import { mutate } from './mutants.js';
import { Nemesis } from './nemesis.js';
import { counts, progress, violations } from './report.js';
import { setStage, type Stage } from './stage.js';

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

/** Once all is well, everything must come to its end within this. */
const HEALED_WITHIN_SECONDS = 30;

console.log(`torture: ${options.minutes} minutes, seed ${options.seed}`);
const build = await copyBuild(options.mutant ?? 'real');
if (options.mutant) await mutate(build, options.mutant);
const stage = await setStage(build);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stage.close(true).finally(() => process.exit(130)));
let found: Violation[] | undefined;
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
  const stop = AbortSignal.timeout(Number(options.minutes) * 60_000);
  const giveUp = new AbortController();
  const nemesis = new Nemesis(stage, dice.fork());
  const clients = Array.from({ length: Number(options.clients) }, () =>
    new Client(stage, journal, dice.fork(), stop, giveUp.signal).run(),
  );
  const started = performance.now();
  const lines = setInterval(
    () => console.log(progress(journal, (performance.now() - started) / 1_000, stage)),
    5_000,
  );
  await nemesis.run(stop);
  await heal(stage);
  const [{ left, seconds }] = await Promise.all([
    drain(stage, HEALED_WITHIN_SECONDS),
    patiently(clients, giveUp),
  ]);
  clearInterval(lines);
  console.log(`healed; all came to an end after ${seconds.toFixed(1)} s`);
  await sleep(1_000); // a mail or event that is on its way
  const facts = await gather(stage, journal);
  const found = [...unfinished(left), ...collapsed(stage), ...check(facts)];
  console.log(counts(journal, stage, nemesis.counts));
  if (found.length > 0) console.log(violations(found, facts));
  return found;
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
