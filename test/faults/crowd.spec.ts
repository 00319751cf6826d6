import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutBody, post, type Answer } from '../support/checkout.js';
import type { SpawnedApi } from '../support/start-api.js';
import { startSystem, type System } from '../support/start-system.js';
import { thoroughly } from '../support/thoroughly.js';

const POOL = 5;
const CROWD = thoroughly ? 1_000 : 300;
const IN_STEP = thoroughly ? 200 : 50;

/** The deadline of a request. On an idle machine nothing here takes a tenth of it; a busy one must not fail the test. */
const AT_MOST_MS = 25_000;

/** For a busy machine as well. */
const PATIENCE_MS = 90_000;

let system: System;
afterEach(() => system.stop());

const checkout = (api: SpawnedApi, key: string, headers: Record<string, string> = {}) =>
  post(`${api.url}/v1/checkouts`, checkoutBody(), { key, headers });

interface Told {
  readonly answer: Answer;
  readonly ms: number;
}

async function timed(ask: () => Promise<Answer>): Promise<Told> {
  const from = performance.now();
  return { answer: await ask(), ms: performance.now() - from };
}

const slowest = (told: readonly Told[]) => Math.max(...told.map(({ ms }) => ms));

/** Each is the reply, byte for byte, or says that the key is in use and when to come back. */
function expectReplyOrInUse(answers: readonly Answer[], reply: Answer): void {
  for (const { status, text, body, headers } of answers) {
    if (status === 201) expect(text).toBe(reply.text);
    else {
      expect([status, body.code]).toEqual([409, 'idempotency_key_in_use']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
  }
}

const attemptsAt = async (key: string) =>
  (
    await system.database.sql<{ attempts: number }>('SELECT attempts FROM idempotency_keys WHERE key = $1', [
      key,
    ])
  )[0]?.attempts;

describe('A crowd with one key, over two processes', () => {
  it(
    'makes one charge: the others are told "in use" or get the reply, and no process opens more than its pool',
    async () => {
      system = await startSystem({ apis: 2, DATABASE_POOL_SIZE: String(POOL) });
      await system.provider.fault('delay', { times: 1, delayMs: 1_000 });
      const key = randomUUID();
      const own = await system.database.sql<{ pid: number }>(OPEN);
      const counting = countSessions(own.map(({ pid }) => pid));
      const crowd = Array.from({ length: CROWD }, (_, n) => timed(() => checkout(system.apis[n % 2]!, key)));
      const told = await Promise.all(crowd);
      const most = await counting.end();
      const reply = await checkout(system.apis[0]!, key);
      expect([reply.status, reply.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
      const answers = told.map(({ answer }) => answer);
      expectReplyOrInUse(answers, reply);
      const ran = answers.filter(
        ({ status, headers }) => status === 201 && !headers.has('idempotent-replayed'),
      );
      expect(ran).toHaveLength(1);
      expect((await system.provider.ledger()).charges).toMatchObject([{ calls: 1 }]);
      expect(most).toBeGreaterThan(2);
      expect(most).toBeLessThanOrEqual(2 * (POOL + 1)); // and the reserved one
      expect(slowest(told)).toBeLessThan(AT_MOST_MS);
    },
    PATIENCE_MS,
  );

  const OPEN = 'SELECT pid FROM pg_stat_activity WHERE datname = current_database()';

  /** How many sessions of others there are at most, by looking again and again. */
  function countSessions(own: readonly number[]) {
    let most = 0;
    let ended = false;
    const looking = (async () => {
      while (!ended) {
        const open = await system.database.sql<{ pid: number }>(OPEN);
        most = Math.max(most, open.filter(({ pid }) => !own.includes(pid)).length);
        await sleep(10);
      }
    })();
    return {
      end: async () => {
        ended = true;
        await looking;
        return most;
      },
    };
  }
});

describe('Clients that retry in step, with no jitter', () => {
  it(
    'do not starve the owner: its reply comes while they go on, and all get it',
    async () => {
      system = await startSystem({ apis: 2 });
      await system.provider.fault('delay', { times: 1, delayMs: 2_000 });
      const key = randomUUID();
      const owner = timed(() => checkout(system.apis[0]!, key));
      while ((await system.provider.ledger()).charges.length === 0) await sleep(5);
      const { rounds, reply } = await inStep(key);
      const { answer, ms } = await owner;
      expect(answer.status).toBe(201);
      expect(reply.text).toBe(answer.text);
      expect(ms).toBeLessThan(AT_MOST_MS);
      expect(rounds).toBeGreaterThan(1);
      expect(await attemptsAt(key)).toBe(1);
      expect((await system.provider.ledger()).charges).toMatchObject([{ calls: 1 }]);
    },
    PATIENCE_MS,
  );

  it(
    'agree on one of them where the owner has died: it finishes, nobody else runs',
    async () => {
      system = await startSystem({ apis: 2, FAULTS: 'on' });
      const key = randomUUID();
      const headers = { 'sandbox-fault': 'call.after:charge=crash' };
      await expect(checkout(system.apis[0]!, key, headers)).rejects.toThrow();
      await system.addApi();
      await system.database.sql("UPDATE idempotency_keys SET locked_until = now() - interval '1 s'");
      await inStep(key, system.apis.slice(1));
      expect(await attemptsAt(key)).toBe(2);
      expect((await system.provider.ledger()).charges).toMatchObject([{ calls: 2 }]);
    },
    PATIENCE_MS,
  );

  /** All ask at once, wait for the slowest, and all ask again, without a pause, until each has the reply. */
  async function inStep(key: string, apis = system.apis): Promise<{ rounds: number; reply: Answer }> {
    for (let rounds = 1; ; rounds++) {
      const all = Array.from({ length: IN_STEP }, (_, n) => checkout(apis[n % apis.length]!, key));
      const answers = await Promise.all(all);
      const reply = answers.find(({ status }) => status === 201);
      if (reply) expectReplyOrInUse(answers, reply);
      if (answers.every(({ status }) => status === 201)) return { rounds, reply: reply! };
    }
  }
});

describe('A process under load whose neighbour is killed', () => {
  it(
    'serves on: each client that goes there gets its reply, each key is charged once',
    async () => {
      system = await startSystem({ apis: 2, IDEMPOTENCY_LEASE_SECONDS: '6' });
      const [doomed, survivor] = system.apis as [SpawnedApi, SpawnedApi];
      const load = new Load(survivor);
      const clients = Array.from({ length: thoroughly ? 32 : 8 }, (_, n) => load.client(system.apis[n % 2]!));
      await sleep(1_500);
      const before = load.answered.length;
      await doomed.kill('SIGKILL');
      await sleep(3_000);
      load.stop();
      const keys = (await Promise.all(clients)).flat();
      expect(load.cut).toBeGreaterThan(0);
      expect(load.answered.length).toBeGreaterThan(before);
      expect(slowest(load.answered.slice(before))).toBeLessThan(AT_MOST_MS);
      const { charges } = await system.provider.ledger();
      expect(charges).toHaveLength(keys.length);
      expect(new Set(charges.map(({ metadata }) => metadata['order_id'])).size).toBe(keys.length);
    },
    PATIENCE_MS,
  );
});

/** Clients that buy one thing after the other, and go elsewhere where nobody answers. */
class Load {
  readonly answered: Told[] = [];
  cut = 0;
  private ended = false;

  constructor(private readonly elsewhere: SpawnedApi) {}

  /** @returns the keys of its purchases, each of which it has seen through */
  async client(api: SpawnedApi): Promise<string[]> {
    const keys: string[] = [];
    while (!this.ended) {
      const key = randomUUID();
      keys.push(key);
      while (!(await this.done(api, key))) if (this.cut > 0) api = this.elsewhere;
    }
    return keys;
  }

  stop(): void {
    this.ended = true;
  }

  private async done(api: SpawnedApi, key: string): Promise<boolean> {
    const told = await timed(() => checkout(api, key)).catch(() => undefined);
    if (!told) return this.connectionCut();
    this.answered.push(told);
    const { status, headers } = told.answer;
    if (status === 201) return true;
    expect(headers.get('should-retry')).toBe('true');
    await sleep(Number(headers.get('retry-after')) * 1_000);
    return false;
  }

  private connectionCut(): false {
    this.cut++;
    return false;
  }
}
