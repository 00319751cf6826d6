import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { MUTANTS } from './mutants.js';

/** Runs the torture against one mutant after the other: each must be caught. Exits 1 where one was not. */
const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: '2' }, seed: { type: 'string', default: '1' } },
});

const escaped = Object.keys(MUTANTS).filter((mutant) => {
  const args = ['--minutes', options.minutes, '--seed', options.seed, '--mutant', mutant];
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--import', './test/torture/register.mjs', 'test/torture/main.ts', ...args],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1e9 },
  );
  const [first = 'nothing was found'] = /^VIOLATION.*/m.exec(stdout) ?? [];
  const caught = status === 1 && first.startsWith('VIOLATION');
  console.log(`${caught ? 'caught' : 'ESCAPED'} ${mutant}: ${first}`);
  return !caught;
});
process.exit(escaped.length === 0 ? 0 : 1);
