import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { MUTANTS } from './mutants.js';

/** Runs the torture against one mutant after the other: each must be caught in time. Exits 1 where one was not. */
const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2.3' }, // what is caught at the end only has to be in time as well
    seed: { type: 'string', default: '1' },
    clients: { type: 'string', default: '16' },
  },
});

/** From the start of the run, servers and all. */
const CAUGHT_WITHIN_SECONDS = 180;

const escaped = Object.keys(MUTANTS).filter((mutant) => {
  const settings = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const started = performance.now();
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--import', './test/torture/register.mjs', 'test/torture/main.ts', ...settings, '--mutant', mutant],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1e9 },
  );
  const seconds = (performance.now() - started) / 1_000;
  const [first = 'nothing was found'] = /^VIOLATION.*/m.exec(stdout) ?? [];
  const caught = status === 1 && first.startsWith('VIOLATION') && seconds <= CAUGHT_WITHIN_SECONDS;
  console.log(`${caught ? 'caught' : 'ESCAPED'} ${mutant}, ${seconds.toFixed(0)} s: ${first}`);
  return !caught;
});
console.log(escaped.length === 0 ? 'all were caught' : `escaped: ${escaped.join(', ')}`);
process.exit(escaped.length === 0 ? 0 : 1);
