/**
 * Runs the README's tour against a running sandbox, so that what it promises stays true.
 *
 * Between `<!-- tour -->` and `<!-- /tour -->` each block of `sh` is run, and the block after it says what must come
 * out: its lines, in this order, with others between them as may be; `…` stands for any text. One shell runs all blocks,
 * as a reader's would.
 *
 *   PORT, PROVIDER_PORT, MAILBOX_PORT   where the sandbox listens, if not where the README says
 *   --without <word>                    passes over blocks marked with it, e.g. "```sh mailbox"
 *   --file <path>                       another file than README.md
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: { file: { type: 'string', default: 'README.md' }, without: { type: 'string', default: '' } },
});

/** The ports that the README names, and the settings that move them. */
const PORTS = { 3000: 'PORT', 4242: 'PROVIDER_PORT', 1080: 'MAILBOX_PORT' };
const END_OF_BLOCK = '--- end of block ---';

const steps = readSteps(readFileSync(options.file, 'utf8'));
const outputs = run(steps);
const failures = steps.flatMap((step, index) => compare(step, outputs[index] ?? ''));

for (const failure of failures) console.error(failure);
console.log(`tour: ${steps.length - failures.length} of ${steps.length} steps went as ${options.file} says`);
process.exitCode = failures.length > 0 || steps.length === 0 ? 1 : 0;

function readSteps(text) {
  const tour = /<!-- tour -->(.*)<!-- \/tour -->/s.exec(text)?.[1] ?? '';
  const blocks = [...tour.matchAll(/^```(\S+) ?(.*)\n([^]*?)^```$/gm)];
  return blocks
    .map(([, language, mark, body], index) => ({
      language,
      mark,
      body,
      expected: expectation(blocks[index + 1]),
    }))
    .filter(({ language, mark }) => language === 'sh' && !(mark && mark === options.without));
}

/** A step that says nothing of what comes out would pass whatever happened: it is refused. */
function expectation(next) {
  if (next === undefined || next[1] === 'sh') return undefined;
  return next[3].split('\n').filter((line) => line.trim() !== '');
}

function run(steps) {
  const script = steps.map(({ body }) => `${body}\nprintf '\\n${END_OF_BLOCK}\\n'`).join('\n');
  const { stdout } = spawnSync('bash', ['-c', elsewhere(script)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 16 * 1024 * 1024,
  });
  return stdout.replaceAll('\r', '').split(END_OF_BLOCK);
}

function elsewhere(script) {
  return Object.entries(PORTS).reduce(
    (moved, [port, name]) => moved.replaceAll(`:${port}`, `:${process.env[name] || port}`),
    script,
  );
}

function compare({ body, expected }, output) {
  if (expected === undefined) return [`tour: nothing is said of what comes out of\n${indent(body)}`];
  let rest = output;
  for (const line of expected) {
    const found = pattern(line).exec(rest);
    if (!found)
      return [`tour: "${line}" did not come out of\n${indent(body)}but this did:\n${indent(output)}`];
    rest = rest.slice(found.index + found[0].length);
  }
  return [];
}

function pattern(line) {
  const literal = line.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(elsewhere(literal).replaceAll('…', '.*?'), 'm');
}

function indent(text) {
  return text.trim().replace(/^/gm, '    ') + '\n';
}
