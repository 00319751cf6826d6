import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SCRIPT = 'scripts/contract-coverage.mjs';

const CONTRACT = `
### Keys

| id | level | state | statement | source |
|---|---|---|---|---|
| K-1 | MUST | built | A key is a key. | ours |
| K-2 | SHOULD | planned | A key may rest. | ours |
| K-3 | MAY | not built | A key may sing. Reason: it does not. | ours |
`;

describe('The contract and the tests that hold it', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'contract-coverage-'));
    mkdirSync(join(root, 'docs'));
    mkdirSync(join(root, 'test/unit'), { recursive: true });
    write('docs/contract.md', CONTRACT);
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const write = (path: string, text: string) => writeFileSync(join(root, path), text);
  const spec = (text: string) => write('test/unit/keys.spec.ts', text);
  const coverage = () => readFileSync(join(root, 'docs/contract-coverage.md'), 'utf8');
  const run = (...flags: string[]) => {
    const { status, stderr } = spawnSync('node', [SCRIPT, '--root', root, ...flags], { encoding: 'utf8' });
    return { status, stderr };
  };

  it('lists the tests that name a statement, however their titles are written', () => {
    spec(
      'it(\'is [K-1]\', f); it.each([1])(\n `is ${1} again [K-2, K-1]`, f); test.concurrent("runs [K-2] [K-1]", f);',
    );
    expect(run().status).toBe(0);
    expect(coverage()).toContain(
      '| K-1 | MUST | [is](../test/unit/keys.spec.ts)<br>[is … again](../test/unit/keys.spec.ts)<br>[runs](../test/unit/keys.spec.ts) |',
    );
    expect(coverage()).toContain('| K-3 | MAY | not built |');
  });

  it('fails where a built statement has no test', () => {
    spec("it.skip('is [K-1]', f); it.todo('is [K-1]'); // it('is [K-1]', f)");
    expect(run()).toEqual({ status: 1, stderr: 'contract: K-1 has no test: A key is a key.\n' });
    expect(run('--allow-missing').status).toBe(0);
  });

  it('fails where a test names a statement that does not exist, or is not built', () => {
    spec("it('is [K-1]', f); it('is more [K-9]', f); it('sings [K-3]', f);");
    expect(run()).toEqual({
      status: 1,
      stderr:
        'contract: test/unit/keys.spec.ts names K-9, which the contract does not have: "is more"\n' +
        'contract: K-3 has a test, but the contract says "not built"\n',
    });
  });

  it('fails a check where the coverage is out of date, and writes nothing', () => {
    spec("it('is [K-1]', f);");
    run();
    expect(run('--check').status).toBe(0);

    const before = coverage();
    spec("it('was [K-1]', f);");
    expect(run('--check').stderr).toContain('out of date');
    expect(coverage()).toBe(before);
  });

  it('fails at a row that it cannot read, rather than passing it over', () => {
    write('docs/contract.md', CONTRACT.replace('planned', 'perhaps'));
    spec('');
    expect(run().stderr).toContain('this row cannot be read');
  });
});
