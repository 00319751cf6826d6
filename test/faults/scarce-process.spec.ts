import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutBody, post, type Answer } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { holdLock } from '../support/locks.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { environment, seedTenants, spawnMain, untilReady, type SpawnedMain } from '../support/start-api.js';

let db: TestDatabase;
let provider: MockProvider;
let main: SpawnedMain;
let url: string;
beforeAll(async () => {
  [db, provider] = await Promise.all([createTestDatabase(), startMockProvider()]);
  await seedTenants(db.url);
});
afterAll(async () => {
  await provider.stop();
  await db.drop();
});

async function start(nodeOptions = ''): Promise<void> {
  const port = String(await freePort());
  const options = { databaseUrl: db.url, providerUrl: provider.url, ROLE: 'api', PORT: port };
  main = spawnMain({ ...environment(options), NODE_OPTIONS: nodeOptions });
  url = `http://127.0.0.1:${port}`;
  await untilReady(url);
}

async function stop(): Promise<void> {
  main.child.kill('SIGTERM');
  expect(await main.exited).toBe(0);
}

/** A process near its limit mostly collects garbage, and the machine may be busy. */
const PATIENCE_MS = 90_000;

const checkout = (body: unknown, key: string = randomUUID()) => post(`${url}/v1/checkouts`, body, { key });

/** As a client would: the same key, for as long as the answer asks for it. */
async function untilFinal(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.headers.get('should-retry') !== 'true') return answer;
    await sleep(Math.random() * 500);
  }
}

/** Of just under 256 KiB, and worth many times that in memory. */
const HEAVY = [
  `{"items":[${'[],'.repeat(87_000)}[]]}`,
  `{"items":[${'{"a":1},'.repeat(32_000)}{}]}`,
  `{"items":[${'1,'.repeat(130_000)}1]}`,
];

/** As large as an order may be, in letters of three bytes. */
const LARGE = checkoutBody({
  items: Array.from({ length: 100 }, (_, n) => ({
    sku: `${n}-${'茶'.repeat(90)}`,
    description: '茶'.repeat(200),
    quantity: 1,
    unitAmount: 1,
  })),
});

describe('A process with a heap of 64 MB', () => {
  beforeAll(() => start('--max-old-space-size=64'));
  afterAll(stop);

  it(
    'outlives bodies at once that are worth ten megabytes each: every one is refused',
    async () => {
      const answers = await Promise.all(Array.from({ length: 45 }, (_, n) => checkout(HEAVY[n % 3]!)));
      expect(answers.filter(({ status }) => status !== 400 && status !== 503)).toEqual([]);
      expect(main.child.exitCode ?? main.child.signalCode).toBeNull();
    },
    PATIENCE_MS,
  );

  it(
    'refuses with 503 what is more than it can hold, does the rest, and all of it in the end',
    async () => {
      const keys = Array.from({ length: 40 }, () => randomUUID());
      const release = await holdLock(db, 'idempotency_keys');
      const told: Answer[] = [];
      const asked = keys.map((key) => checkout(LARGE, key).then((answer) => void told.push(answer)));
      while (told.length === 0) await sleep(5);
      expect([told[0]!.status, told[0]!.body.code]).toEqual([503, 'overloaded']);
      expect(told[0]!.headers.get('retry-after')).toBe('1');
      await release();
      await Promise.all(asked);
      expect(told.filter(({ status }) => ![201, 503].includes(status))).toEqual([]);
      const all = await Promise.all(keys.map((key) => untilFinal(() => checkout(LARGE, key))));
      expect(all.map(({ status }) => status)).toEqual(keys.map(() => 201));
      expect((await provider.ledger()).charges).toHaveLength(keys.length);
    },
    PATIENCE_MS,
  );
});

describe('Strangers who send bodies, and do not end them, to a process with a heap of 64 MB', () => {
  beforeAll(() => start('--max-old-space-size=64'));
  afterAll(stop);

  /** All of a body but its end. @returns what it was told, once its connection is closed */
  function send(kind: string, length: number): { socket: Socket; told: Promise<string> } {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => (text += chunk.toString()));
    const told = once(socket, 'close').then(() => text);
    const body =
      kind === 'chunked' ? `${length.toString(16)}\r\n${' '.repeat(length)}` : ' '.repeat(length - 1);
    const size = kind === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`;
    socket.write(`POST /v1/checkouts HTTP/1.1\r\nHost: x\r\n${size}\r\n\r\n${body}`);
    return { socket, told };
  }

  it(
    'may send what is too large again and again: it is refused, and takes nothing for good',
    async () => {
      const tooLarge = Buffer.alloc(3 * 1024 * 1024, ' ');
      for (let sent = 0; sent < 40; sent++) await upload(tooLarge);
      await Promise.all(Array.from({ length: 40 }, () => upload(tooLarge)));
      expect(main.child.exitCode ?? main.child.signalCode).toBeNull();
      const orders = await Promise.all(Array.from({ length: 5 }, () => untilFinal(() => checkout(LARGE))));
      expect(orders.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
      const strangers = Array.from({ length: 10 }, () => send('chunked', 255 * 1024)); // there is room for all of them
      expect((await checkout(LARGE)).status).toBe(201);
      for (const { socket } of strangers) socket.destroy();
    },
    PATIENCE_MS,
  );

  /** Without its length, for as long as anybody reads. */
  async function upload(bytes: Buffer): Promise<void> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.resume();
    socket.write('POST /v1/checkouts HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.end(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes]));
    await once(socket, 'close');
  }

  it.each(['chunked', 'sized'])(
    'are refused before they fill its memory, and orders of honest size are taken meanwhile: %s',
    async (kind) => {
      const strangers = Array.from({ length: 60 }, () => send(kind, 255 * 1024)); // of 4 MB in all there is room for 16
      const first = await Promise.race(strangers.map(({ told }) => told));
      expect(first).toMatch(/^HTTP\/1.1 503 [^]*"overloaded"/);
      expect((await checkout(checkoutBody())).status).toBe(201);
      for (const { socket } of strangers) socket.destroy();
      await Promise.all(strangers.map(({ told }) => told));
      const answer = await untilFinal(() => checkout(LARGE)); // what they took is given back
      expect(answer.status).toBe(201);
    },
    PATIENCE_MS,
  );
});

const limitTool = (() => {
  try {
    return execFileSync('prlimit', ['--version']).length > 0;
  } catch {
    return false;
  }
})();

(limitTool ? describe : describe.skip)('A process with 64 file descriptors (needs prlimit)', () => {
  beforeAll(async () => {
    await start();
    execFileSync('prlimit', ['--pid', String(main.child.pid), '--nofile=64:64']);
  });
  afterAll(stop);

  it('turns clients away while they hold all of them, and serves again, same key, when they let go', async () => {
    const before = (await provider.ledger()).charges.length;
    expect((await untilFinal(() => checkout(checkoutBody()))).status).toBe(201);
    const idle = await holdAll();
    const keys = Array.from({ length: 20 }, () => randomUUID());
    const outcomes = await Promise.allSettled(keys.map((key) => checkout(checkoutBody(), key)));
    const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(answers.filter(({ status }) => status !== 503)).toEqual([]);
    expect(main.child.exitCode ?? main.child.signalCode).toBeNull();
    for (const socket of idle) socket.destroy();
    await untilReady(url);
    const all = await Promise.all(keys.map((key) => untilFinal(() => checkout(checkoutBody(), key))));
    expect(all.map(({ status }) => status)).toEqual(keys.map(() => 201));
    expect((await provider.ledger()).charges).toHaveLength(before + 1 + keys.length);
  });

  /** Idle connections, until the process has no descriptor left for another one. */
  async function holdAll(): Promise<Socket[]> {
    const { hostname, port } = new URL(url);
    const open: Socket[] = [];
    let turnedAway = 0;
    while (turnedAway < 10) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      socket.on('close', () => turnedAway++);
      await once(socket, 'connect');
      open.push(socket);
      await sleep(1);
    }
    return open;
  }
});
