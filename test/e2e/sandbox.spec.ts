import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { asService } from '../support/app-role.js';
import { createTestDatabase } from '../support/database.js';
import { childrenOf, untilGone } from '../support/processes.js';
import {
  freePorts,
  PORT_NAMES,
  startSandbox,
  type SandboxPorts,
  type StartedSandbox,
} from '../support/sandbox.js';

const BOOT_MS = 60_000; // a few seconds by itself; the machine may be busy with other tests

describe('The sandbox', () => {
  let folder: string;
  let ports: SandboxPorts;
  let sandbox: StartedSandbox;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
    ports = await freePorts();
    sandbox = await start();
  }, BOOT_MS);
  afterAll(async () => {
    await sandbox.signal('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  }, BOOT_MS);

  async function start(env: NodeJS.ProcessEnv = {}): Promise<StartedSandbox> {
    const started = startSandbox({ DATA_DIR: join(folder, 'data'), ...ports, ...env });
    await started.says('Ready in');
    return started;
  }

  const get = (port: keyof SandboxPorts, path: string) => fetch(`http://127.0.0.1:${ports[port]}${path}`);
  const pidOfPostgres = async () =>
    Number((await readFile(join(folder, 'data/postgres/postmaster.pid'), 'utf8')).split('\n')[0]);
  const processOf = (entry: string) =>
    childrenOf(sandbox.pid).filter(({ command }) => command.includes(entry));

  async function untilReady(port: keyof SandboxPorts): Promise<void> {
    while (
      !(await get(port, '/health/ready').then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await sleep(50);
  }

  async function checkout(key: string): Promise<{ status: number; text: string }> {
    const response = await fetch(`http://127.0.0.1:${ports.PORT}/v1/checkouts`, {
      method: 'POST',
      headers: {
        Authorization: 'Bearer ck_test_acme',
        'Idempotency-Key': key,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({
        currency: 'eur',
        items: [{ sku: 'mug', quantity: 1, unitAmount: 1250 }],
        customer: { email: 'ada@example.com' },
        paymentMethod: 'pm_card_visa',
      }),
    });
    return { status: response.status, text: await response.text() };
  }

  it('brings up an API, a worker, a payment provider and a mailbox', async () => {
    expect((await get('PORT', '/health/ready')).status).toBe(200);
    expect((await get('WORKER_PORT', '/health/ready')).status).toBe(200);
    expect(await (await get('PROVIDER_PORT', '/_ledger')).json()).toEqual({ charges: [], refunds: [] });
    expect(await (await get('MAILBOX_PORT', '/messages')).json()).toEqual({ messages: [] });
  });

  it('prints three lines to paste: a checkout, its replay, and a refusal', async () => {
    const lines = sandbox.output().match(/^curl .*$/gm) ?? [];
    const answers = [];
    for (const line of lines) answers.push(await paste(line));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 422]);
    expect(answers[1]?.headers.get('idempotent-replayed')).toBe('true');
    expect(await answers[1]?.text()).toBe(await answers[0]?.text());
  });

  it(
    'starts an API again that was killed',
    async () => {
      const before = processOf('src/main.js');
      for (const { pid } of before) process.kill(pid, 'SIGKILL');
      await untilGone(before);
      await untilReady('PORT');
      expect(sandbox.output()).toMatch(/api ended \(SIGKILL\): starting it again/);
      expect((await checkout('after-a-kill')).status).toBe(201);
    },
    BOOT_MS,
  );

  it(
    'starts PostgreSQL again, and keeps what was committed',
    async () => {
      const pid = await pidOfPostgres();
      process.kill(pid, 'SIGKILL');
      await untilGone([{ pid, command: 'postgres' }]);
      await sandbox.says('PostgreSQL is back');
      await untilReady('PORT');
      const again = await checkout('after-a-kill');
      expect(again.status).toBe(201);
    },
    BOOT_MS,
  );

  it(
    'stays in charge of PostgreSQL when one of its sessions was killed and it recovered by itself',
    async () => {
      const timesBack = () => sandbox.output().split('PostgreSQL is back').length;
      const before = timesBack();
      const session = childrenOf(await pidOfPostgres()).find(({ command }) =>
        /checkout_app checkout 127/.test(command),
      );
      process.kill(session!.pid, 'SIGKILL'); // the server drops every session and recovers
      while (timesBack() === before) await sleep(50);

      const second = startSandbox({ DATA_DIR: join(folder, 'data'), ...(await freePorts()) });
      expect(await second.ended).toBe(1);
      expect(second.output()).toContain('Another sandbox is running');

      process.kill(await pidOfPostgres(), 'SIGKILL');
      while (timesBack() === before + 1) await sleep(50);
      await untilReady('PORT');
      expect((await checkout('after-a-session')).status).toBe(201);
    },
    BOOT_MS,
  );

  it(
    'stops everything on Ctrl-C, and starts again with the data of before',
    async () => {
      const before = await checkout('before-ctrl-c');
      const children = childrenOf(sandbox.pid);
      expect(await sandbox.signal('SIGINT')).toBe(0);
      await untilGone(children, 0);
      expect(existsSync(join(folder, 'data/postgres/postmaster.pid'))).toBe(false);
      sandbox = await start();
      expect(await checkout('before-ctrl-c')).toEqual(before);
      expect(await (await get('PROVIDER_PORT', '/_ledger')).text()).toContain('succeeded');
    },
    BOOT_MS,
  );

  it(
    'leaves no process behind when it is killed, and finds PostgreSQL running at the next start',
    async () => {
      const before = await checkout('before-the-kill');
      const children = childrenOf(sandbox.pid);
      expect(children).toHaveLength(4);
      const postgres = await pidOfPostgres();
      await sandbox.signal('SIGKILL');
      await untilGone(children);
      sandbox = await start();
      expect(sandbox.output()).toContain('found running');
      expect(await pidOfPostgres()).toBe(postgres);
      expect(await checkout('before-the-kill')).toEqual(before);
    },
    BOOT_MS,
  );

  it(
    'starts at once after a kill, while the processes of before are still on their way out',
    async () => {
      await sandbox.signal('SIGKILL');
      sandbox = await start();
      expect((await checkout('at-once')).status).toBe(201);
    },
    BOOT_MS,
  );

  it(
    'lets one sandbox at a time have a data folder',
    async () => {
      const other = startSandbox({ DATA_DIR: join(folder, 'data'), ...(await freePorts()) });
      expect(await other.ended).toBe(1);
      expect(other.output()).toMatch(
        /Another sandbox is running on DATA_DIR=.*: stop it, or set DATA_DIR to another folder\./,
      );
      expect((await checkout('still-here')).status).toBe(201);
    },
    BOOT_MS,
  );
});

describe('The sandbox, where it is started another way,', () => {
  let folder: string;
  let env: NodeJS.ProcessEnv & SandboxPorts;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
    env = { PATH: process.env['PATH'], DATA_DIR: folder, ...(await freePorts()) };
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it(
    'uses the PostgreSQL that DATABASE_URL names, and none of its own',
    async () => {
      const { url, sql, drop } = await createTestDatabase();
      const sandbox = startSandbox({ ...env, DATABASE_URL: url, DATABASE_APP_URL: asService(url) });
      await sandbox.says('Ready in');
      expect(await sql('SELECT id FROM tenants ORDER BY id')).toEqual([{ id: 'acme' }, { id: 'globex' }]);
      expect(existsSync(join(folder, 'postgres'))).toBe(false);
      expect(await sandbox.signal('SIGTERM')).toBe(0);
      await drop();
    },
    BOOT_MS,
  );

  it(
    'ends with the npm that started it, although npm was killed and could not pass that on',
    async () => {
      const command = `"${process.execPath}" dist/src/sandbox/start.js; true`; // `true` keeps the shell from stepping aside
      const npm = spawn('sh', ['-c', command], {
        env: { ...env, npm_lifecycle_event: 'start' },
        stdio: 'ignore',
      });
      const url = `http://127.0.0.1:${env.PORT}/health/ready`;
      while (
        !(await fetch(url).then(
          ({ ok }) => ok,
          () => false,
        ))
      )
        await sleep(50);
      const [supervisor] = childrenOf(npm.pid!);
      const all = [supervisor!, ...childrenOf(supervisor!.pid)];
      npm.kill('SIGKILL');
      await untilGone(all);
      expect(all).toHaveLength(5);
      expect(existsSync(join(folder, 'postgres/postmaster.pid'))).toBe(false);
    },
    BOOT_MS,
  );
});

describe('The sandbox refuses in one sentence that names what to set', () => {
  let folder: string;
  let ports: SandboxPorts;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
    ports = await freePorts();
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Everything that it printed; it must have ended by itself with 1, and have left nothing running. */
  async function refusal(env: NodeJS.ProcessEnv): Promise<string> {
    const sandbox = startSandbox({ DATA_DIR: join(folder, 'data'), ...ports, ...env });
    expect(await sandbox.ended).toBe(1);
    expect(existsSync(join(folder, 'data/postgres/postmaster.pid'))).toBe(false);
    return sandbox.output().trim();
  }

  it.each(PORT_NAMES)('when %s is taken', async (name) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const said = await refusal({ [name]: String(port) });
    server.close();
    expect(said).toBe(`Port ${port} is taken: set ${name} to another port, or stop what listens on it.`);
  });

  it('when a port is no port, or two are the same', async () => {
    expect(await refusal({ PORT: 'http' })).toMatch(/^PORT=http is not a port: set PORT to .*\.$/);
    expect(await refusal({ SMTP_PORT: ports.PORT })).toMatch(
      /^PORT and SMTP_PORT are both \d+: set SMTP_PORT .*\.$/,
    );
  });

  it('when the data folder holds something else', async () => {
    await writeFile(join(folder, 'thesis.txt'), 'years of work');
    const said = await refusal({ DATA_DIR: folder });
    expect(said).toBe(
      `DATA_DIR=${folder} holds files that are not the sandbox's (thesis.txt): set DATA_DIR to an empty or a new folder.`,
    );
    expect(await readdir(folder)).toEqual(['thesis.txt']);
  });

  it('when the data folder cannot be made', async () => {
    await writeFile(join(folder, 'file'), '');
    const said = await refusal({ DATA_DIR: join(folder, 'file') });
    expect(said).toMatch(
      /^DATA_DIR=.* cannot be used \(ENOTDIR\): set DATA_DIR to a folder you can write to\.$/,
    );
  });

  it('when the data folder is of another PostgreSQL', async () => {
    await mkdir(join(folder, 'data/postgres'), { recursive: true });
    await writeFile(join(folder, 'data/sandbox.json'), '{"running":false}');
    await writeFile(join(folder, 'data/postgres/PG_VERSION'), '17\n');
    expect(await refusal({})).toMatch(
      /was made by PostgreSQL 17 and this is PostgreSQL 18: set DATA_DIR to a new folder/,
    );
  });

  it('when a setting of the service is not usable, and says all that is wrong at once', async () => {
    const said = await refusal({ LOG_LEVEL: 'zzz', DATABASE_POOL_SIZE: '0' });
    expect(said).toContain('LOG_LEVEL');
    expect(said).toContain('DATABASE_POOL_SIZE');
    expect(said).not.toContain('    at ');
  });

  it('when DATABASE_URL is not an address, leads nowhere, or leads to something else', async () => {
    const mute = createServer((socket) => socket.end('I speak no SQL\n')).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo;
    const urls = [
      'localhost:5432',
      'postgres://127.0.0.1:9/checkout',
      `postgres://user:secret@127.0.0.1:${port}/checkout`,
    ];
    for (const url of urls) {
      const said = await refusal({ DATABASE_URL: url });
      expect(said).toMatch(/^.*DATABASE_URL .*[Ss]et DATABASE_URL to .*\.$/m);
      expect(said).not.toContain('secret');
    }
    mute.close();
  });

  it('when the database of DATABASE_URL does not exist', async () => {
    const url = Object.assign(new URL(process.env['TEST_ADMIN_URL']!), { pathname: 'nowhere' });
    expect(await refusal({ DATABASE_URL: url.href })).toMatch(/has no database nowhere/);
  });
});

/** Sends what a printed curl line would send. */
function paste(line: string): Promise<Response> {
  const [, url = ''] = /(http\S+)/.exec(line) ?? [];
  const headers = [...line.matchAll(/-H '([^:]+): ([^']+)'/g)].map(
    ([, name, value]) => [name, value] as [string, string],
  );
  return fetch(url, { method: 'POST', headers, body: / -d '([^']+)'/.exec(line)?.[1] ?? '' });
}
