import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

describe("The README's tour", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'readme-tour-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const run = (tour: string, ...flags: string[]) => {
    const file = join(folder, 'README.md');
    writeFileSync(file, `Intro\n<!-- tour -->\n${tour}\n<!-- /tour -->\n`);
    const env = { ...process.env, PORT: '3900' };
    return spawnSync('node', ['scripts/readme-tour.mjs', '--file', file, ...flags], {
      encoding: 'utf8',
      env,
    });
  };
  const step = (shell: string, output: string, mark = '') =>
    `\`\`\`sh${mark}\n${shell}\n\`\`\`\n\`\`\`text\n${output}\n\`\`\`\n`;

  it('passes where every step prints what is promised, in one shell', () => {
    const tour =
      step('KEY=k1', '…') +
      step('echo "HTTP/1.1 201"; echo x; echo "id: $KEY-7, done"', 'HTTP/1.1 201\nid: k1-…, done');
    expect(run(tour)).toMatchObject({ status: 0, stdout: expect.stringContaining('2 of 2 steps') });
  });

  it('fails where a promised line is missing, or comes in another order', () => {
    expect(run(step('echo a', 'b'))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('"b" did not come out'),
    });
    expect(run(step('echo a; echo b', 'b\na')).status).toBe(1);
  });

  it('fails where nothing is promised, and where there is no tour', () => {
    expect(run('```sh\necho a\n```').stderr).toContain('nothing is said of what comes out');
    expect(run('').status).toBe(1);
  });

  it('goes to the ports that the sandbox was given', () => {
    expect(run(step('echo http://localhost:3000/docs', 'http://localhost:3900/docs')).status).toBe(0);
  });

  it('passes over what the other surroundings do not have', () => {
    const tour = step('echo a', 'a') + step('echo b', 'nothing like it', ' mailbox');
    expect(run(tour).status).toBe(1);
    expect(run(tour, '--without', 'mailbox').status).toBe(0);
  });
});
