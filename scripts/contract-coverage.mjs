/**
 * Which test holds which statement of the contract.
 *
 *   node scripts/contract-coverage.mjs            writes docs/contract-coverage.md
 *   node scripts/contract-coverage.mjs --check    writes nothing; fails where that file is out of date
 *   --allow-missing                               lets built statements without a test pass
 *   --root <folder>                               the folder that has docs/ and test/
 *
 * It fails where a test names a statement that does not exist, where a statement that is built has no test, and
 * where one that is not built has one. Skipped tests hold nothing.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';

const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    'allow-missing': { type: 'boolean', default: false },
    root: { type: 'string', default: '.' },
  },
});

const COVERAGE = join(options.root, 'docs/contract-coverage.md');
const ROW =
  /^\| ([A-Z]{1,3}-\d+) \| (MUST NOT|MUST|SHOULD|MAY) \| (built|planned|not built) \| (.+) \| ([^|]+) \|$/;
const LOOKS_LIKE_ROW = /^\| [A-Z]{1,3}-\d+ \|/;
const ID = /[A-Z]{1,3}-\d+/g;
/** `[H-3]`, `[F-7, F-8]` or `[F-7] [F-8]`. */
const IDS_AT_THE_END = /(?:\s*\[[A-Z]{1,3}-\d+(?:, [A-Z]{1,3}-\d+)*\])+$/;

const statements = readContract(join(options.root, 'docs/contract.md'));
const tests = readTests(join(options.root, 'test'));
const testsOf = (id) => tests.filter(({ ids }) => ids.includes(id));

const coverage = render();
const problems = [...unknownIds(), ...builtByMistake(), ...(options['allow-missing'] ? [] : missing())];
if (!options.check) writeFileSync(COVERAGE, coverage);
else if (coverage !== readIfThere(COVERAGE)) problems.push('out of date: run `npm run contract:coverage`');

for (const problem of problems) console.error(`contract: ${problem}`);
console.log(`contract: ${summary()}`);
process.exitCode = problems.length > 0 ? 1 : 0;

function readContract(file) {
  let section = '';
  const found = [];
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line.startsWith('### ')) section = line.slice(4);
    if (!LOOKS_LIKE_ROW.test(line)) continue;
    const [, id, level, state, sentence] = ROW.exec(line) ?? fail(`this row cannot be read: ${line}`);
    if (found.some((statement) => statement.id === id)) fail(`${id} is there twice`);
    found.push({ id, level, state, sentence, section });
  }
  return found;
}

function readTests(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.spec.ts'))
    .sort()
    .flatMap((name) => readSpec(join(folder, name), `test/${name}`));
}

/** Reads the syntax tree rather than the lines: a title may be wrapped, and a comment is no test. */
function readSpec(path, name) {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest);
  const found = [];
  const visit = (node) => {
    if (ts.isCallExpression(node) && isTest(node.expression)) {
      const title = textOf(node.arguments[0]);
      const [named] = IDS_AT_THE_END.exec(title) ?? [];
      if (named) found.push({ name, title: title.replace(IDS_AT_THE_END, ''), ids: named.match(ID) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** `it(…)`, `test(…)`, `it.each(…)(…)` and `it.concurrent(…)`, but neither `it.skip` nor `it.todo`. */
function isTest(callee) {
  if (ts.isIdentifier(callee)) return ['it', 'test'].includes(callee.text);
  if (ts.isCallExpression(callee) || ts.isTaggedTemplateExpression(callee)) {
    const each = ts.isCallExpression(callee) ? callee.expression : callee.tag;
    return ts.isPropertyAccessExpression(each) && each.name.text === 'each' && isTest(each.expression);
  }
  return (
    ts.isPropertyAccessExpression(callee) && callee.name.text === 'concurrent' && isTest(callee.expression)
  );
}

function textOf(node) {
  if (node === undefined) return '';
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return '';
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
}

function unknownIds() {
  const known = new Set(statements.map(({ id }) => id));
  return tests.flatMap(({ name, title, ids }) =>
    ids
      .filter((id) => !known.has(id))
      .map((id) => `${name} names ${id}, which the contract does not have: "${title}"`),
  );
}

function builtByMistake() {
  return statements
    .filter(({ id, state }) => state === 'not built' && testsOf(id).length > 0)
    .map(({ id }) => `${id} has a test, but the contract says "not built"`);
}

function missing() {
  return statements
    .filter(({ id, state }) => state === 'built' && testsOf(id).length === 0)
    .map(({ id, sentence }) => `${id} has no test: ${sentence}`);
}

function summary() {
  const count = (state) => statements.filter((statement) => statement.state === state);
  const held = count('built').filter(({ id }) => testsOf(id).length > 0);
  return `${held.length} of ${count('built').length} built statements have a test; ${count('planned').length} planned, ${count('not built').length} not built`;
}

function render() {
  const sections = [...new Set(statements.map(({ section }) => section))];
  return [
    '# Contract coverage',
    '',
    'Generated by `npm run contract:coverage` from [contract.md](contract.md) and the titles of the tests; do not edit.',
    '',
    `${summary()}.`,
    ...sections.flatMap((section) => [
      '',
      `## ${section}`,
      '',
      '| id | level | held by |',
      '|---|---|---|',
      ...rows(section),
    ]),
    '',
  ].join('\n');
}

function rows(section) {
  return statements
    .filter((statement) => statement.section === section)
    .map(({ id, level, state }) => `| ${id} | ${level} | ${heldBy(id, state)} |`);
}

function heldBy(id, state) {
  const held = testsOf(id).map(({ name, title }) => `[${escape(title)}](../${name})`);
  if (held.length > 0) return held.join('<br>');
  return state === 'built' ? '**no test yet**' : state;
}

function escape(title) {
  return title.replace(/[|[\]<]/g, '\\$&');
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function fail(problem) {
  console.error(`contract: ${problem}`);
  process.exit(1);
}
