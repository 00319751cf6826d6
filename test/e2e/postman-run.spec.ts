import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, untilGone, type RunningProcess } from '../support/processes.js';

const RUN_MS = 90_000; // it starts a sandbox; the machine may be busy with other tests

describe('`npm run postman`', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'postman-run-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** What the script leaves in its temporary folder shows in `folder`. */
  function start(...flags: string[]) {
    const child = spawn(process.execPath, ['scripts/postman.mjs', ...flags], {
      env: { ...process.env, TMPDIR: folder },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const ended = once(child, 'close').then(([code]) => code as number | null);
    return { child, ended, output: () => output };
  }

  /** The sandbox with everything in it, once the first request is on its way. */
  async function whileRunning({ child, output }: ReturnType<typeof start>): Promise<RunningProcess[]> {
    while (!output().includes('❏')) {
      if (child.exitCode !== null) throw new Error(`It ended:\n${output()}`);
      await sleep(20);
    }
    const sandbox = childrenOf(child.pid!);
    const services = sandbox.flatMap(({ pid }) => childrenOf(pid));
    const [data = ''] = await readdir(folder);
    const postmaster = await readFile(join(folder, data, 'data/postgres/postmaster.pid'), 'utf8');
    return [...sandbox, ...services, { pid: Number(postmaster.split('\n')[0]), command: 'postgres' }];
  }

  it(
    'fails where a test of the collection does, says which, and leaves nothing behind',
    async () => {
      const file = join(folder, 'collection.json');
      await writeFile(file, JSON.stringify(TEAPOT));
      const failing = start('--collection', file);
      expect(await failing.ended).toBe(1);
      expect(failing.output()).toContain(
        'Health / is a teapot: expected response to have status code 418 but got 200',
      );
      expect(await readdir(folder)).toEqual(['collection.json']);
    },
    RUN_MS,
  );

  it(
    'stops the sandbox on Ctrl-C, and takes its data away',
    async () => {
      const run = start();
      const children = await whileRunning(run);
      run.child.kill('SIGINT');
      expect(await run.ended).toBe(130);
      expect(children.length).toBeGreaterThanOrEqual(6); // the sandbox, its four services, PostgreSQL
      await untilGone(children);
      expect(await readdir(folder)).toEqual([]);
    },
    RUN_MS,
  );

  it(
    'leaves no sandbox behind when it is killed and cannot stop it',
    async () => {
      const run = start();
      const children = await whileRunning(run);
      run.child.kill('SIGKILL');
      await run.ended;
      await untilGone(children);
    },
    RUN_MS,
  );
});

/** A collection whose one test cannot pass. */
const TEAPOT = {
  info: { name: 'Teapot', schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json' },
  item: [
    {
      name: 'Health',
      request: 'http://{{host}}:{{apiPort}}/health/live',
      event: [
        {
          listen: 'test',
          script: { exec: `pm.test('is a teapot', () => pm.response.to.have.status(418));` },
        },
      ],
    },
  ],
};
