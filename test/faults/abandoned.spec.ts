import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutBody, get, post } from '../support/checkout.js';
import type { SpawnedApi } from '../support/start-api.js';
import { startSystem, type System } from '../support/start-system.js';
import { thoroughly } from '../support/thoroughly.js';

/** Where the process of the first request dies, once there is anything to come back to. */
const CRASHES = [
  'phase.after_commit:order_created',
  'call.before:charge',
  'call.after:charge',
  'phase.before_commit:finished',
  'phase.after_commit:finished',
  'reply.before_send',
];

const INNER = ['phase.before_commit:charge_created', 'phase.after_commit:charge_created'];

let system: System;
let api: SpawnedApi;

async function open(settings: Parameters<typeof startSystem>[0]): Promise<void> {
  system = await startSystem({ FAULTS: 'on', ...settings });
  api = system.apis[0]!;
}

const checkout = (key: string, headers: Record<string, string> = {}) =>
  post(`${api.url}/v1/checkouts`, checkoutBody(), { key, headers });
const truth = async (key: string) => (await get(`${api.url}/v1/idempotency-keys?key=${key}`)).body;

/** Time moves by back-dating: the lease of whoever died is over, and the grace or the backoff. */
const allDue = () =>
  system.database.sql(
    `UPDATE idempotency_keys SET next_run_at = now() - interval '1 s', locked_until = locked_until - interval '1 h'
      WHERE status = 'in_progress'`,
  );

async function until<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 400; tries++) {
    const found = await read();
    if (found !== undefined) return found;
    await sleep(25);
  }
  throw new Error('It did not come to be within 10 s');
}

interface KeyColumns {
  readonly status: string;
  readonly attempts: number;
  readonly completer_tries: number;
  readonly doubtful_tries: number;
  readonly locked_until: Date | null;
  readonly reply_body: Buffer | null;
}

const row = async (key: string) =>
  (await system.database.sql<KeyColumns>('SELECT * FROM idempotency_keys WHERE key = $1', [key]))[0];
const rowWhere = (key: string, holds: (row: KeyColumns) => boolean) =>
  until(async () => {
    const found = await row(key);
    return found && holds(found) ? found : undefined;
  });
const finished = (key: string) => rowWhere(key, ({ status }) => status === 'finished');

/** A request whose process dies on the way, and whose client never comes back. */
async function abandon(key: string, point: string): Promise<void> {
  await expect(checkout(key, { 'sandbox-fault': `${point}=crash` })).rejects.toThrow();
  expect(await api.kill('SIGKILL')).toBeNull();
  api = await system.addApi();
}

async function expectPaidOnce(key: string): Promise<void> {
  const { reply_body: stored } = await finished(key);
  const answer = await checkout(key);
  expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
  expect(answer.text).toBe(stored!.toString());
  const { order } = answer.body;
  expect((await get(`${api.url}/v1/orders/${order.id}`)).body.status).toBe('paid');
  expect(await chargesOf(order.id)).toHaveLength(1);
  const [counts] = await system.database.sql(
    `SELECT (SELECT count(*)::int FROM charges WHERE order_id = $1) AS charges,
            (SELECT count(*)::int FROM ledger_entries WHERE subject = $1) AS ledger,
            (SELECT count(*)::int FROM outbox_messages WHERE ordering_key = $1) AS outbox`,
    [order.id],
  );
  expect(counts).toEqual({ charges: 1, ledger: 1, outbox: 1 });
  const receipt = async () => {
    const mails = (await system.mailbox.messages()).filter(({ messageId }) => messageId.includes(order.id));
    return mails.length > 0 ? mails : undefined;
  };
  expect(await until(receipt)).toHaveLength(1);
}

const chargesOf = async (orderId: string) =>
  (await system.provider.ledger()).charges.filter(({ metadata }) => metadata['order_id'] === orderId);

/** Every order is paid, and the provider knows of no charge besides theirs. */
async function expectNoOrphans(): Promise<void> {
  const orders = await system.database.sql<{ status: string }>('SELECT status FROM orders');
  expect(orders.filter(({ status }) => status !== 'paid')).toEqual([]);
  expect((await system.provider.ledger()).charges).toHaveLength(orders.length);
}

/** The charge is made and nothing of it is written. */
const FOREMOST = ['call.after:charge'];

describe.each([
  ['phases joined', 'false', thoroughly ? CRASHES : FOREMOST],
  ['every phase committed', 'true', thoroughly ? [...CRASHES, ...INNER] : INNER],
])('With %s, a checkout whose client never comes back', (_name, commitEveryPhase, crashes) => {
  beforeAll(() => open({ workers: 1, COMMIT_EVERY_PHASE: commitEveryPhase }));
  afterAll(() => system.stop());

  it.each(crashes)(
    'is finished by a worker after kill -9 at %s: one charge, ledger row and receipt [Q-1, Q-2]',
    async (point) => {
      const key = randomUUID();
      await abandon(key, point);
      await allDue();
      await expectPaidOnce(key);
      await expectNoOrphans();
    },
  );

  it('has left no trace after kill -9 before its first commit: nothing is finished, nothing is charged [Q-2]', async () => {
    const key = randomUUID();
    await abandon(key, 'phase.before_commit:order_created');
    await allDue();
    expect(await row(key)).toBeUndefined();
    await expectNoOrphans();
  });
});

/** Above what the tests try before they let a key be finished. */
const MAX_TRIES = 6;

describe('Workers', () => {
  beforeAll(() => open({ COMPLETER_MAX_TRIES: String(MAX_TRIES) }));
  afterAll(() => system.stop());
  afterEach(async () => {
    await system.provider.clearFaults();
    for (const worker of system.workers) await worker.stop();
  });

  it('may die as well, in the middle of the call: the next one finishes with the same derived key [Q-3]', async () => {
    const key = randomUUID();
    await abandon(key, 'call.before:charge');
    await system.provider.fault('delay', { delayMs: 3_000 });
    const first = await system.addWorker();
    await allDue();
    await rowWhere(key, ({ locked_until, completer_tries }) => completer_tries === 1 && !!locked_until);
    await until(async () => ((await system.provider.ledger()).charges.length > 0 ? true : undefined));
    await first.kill('SIGKILL');
    await allDue();
    await system.addWorker();
    await expectPaidOnce(key);
    expect(await row(key)).toMatchObject({ attempts: 3, doubtful_tries: 1 });
  });

  it('that are told to stop finish what they have begun', async () => {
    const key = randomUUID();
    await abandon(key, 'call.before:charge');
    await system.provider.fault('delay', { delayMs: 1_500 });
    const worker = await system.addWorker();
    await allDue();
    await rowWhere(key, ({ locked_until, completer_tries }) => completer_tries === 1 && !!locked_until);
    expect(await worker.stop()).toBe(0);
    expect(await row(key)).toMatchObject({ status: 'finished', attempts: 2 });
  });

  it('outlast a provider that is down for hours, and charge once when it is back [Q-3, P-7]', async () => {
    const key = randomUUID();
    await system.provider.fault('down', { times: 1_000 });
    expect((await checkout(key)).status).toBe(503);
    await system.addWorker();
    for (let hour = 1; hour <= 5; hour++) {
      await allDue();
      await rowWhere(key, (found) => found.completer_tries === hour && found.locked_until === null);
    }
    expect(await truth(key)).toMatchObject({ status: 'in_progress', charge: { status: 'unknown' } });
    await system.provider.clearFaults();
    await allDue();
    await expectPaidOnce(key);
  });

  it('never send a charge again past the window of the provider, but find and adopt it [P-9, Q-5]', async () => {
    const key = randomUUID();
    await system.provider.fault('drop_after', { times: 2 });
    await system.provider.fault('search_down', { times: 1 });
    expect((await checkout(key)).status).toBe(503);
    await system.provider.clearFaults();
    await windowPasses(key);
    await system.addWorker();
    await allDue();
    await expectPaidOnce(key);
    const { order } = (await checkout(key)).body;
    expect((await chargesOf(order.id))[0]).toMatchObject({ calls: 2 });
  });

  it.each([
    ['drop_before', 2, 'may have acted'],
    ['rate_limit', 1, 'surely did nothing'],
  ])(
    'ask a person where nothing is found past that window, after %s (%d), which %s [P-9, Q-4]',
    async (kind, times) => {
      const key = randomUUID();
      await system.provider.fault(kind, { times });
      await system.provider.fault('search_down', { times: 1 });
      expect((await checkout(key)).status).toBe(503);
      await system.provider.clearFaults();
      await windowPasses(key);
      await system.addWorker();
      await allDue();
      await expectUnderReview(key);
    },
  );

  it('look again while the look-ups fail, past that window too, and ask a person at the cap [P-9, Q-4]', async () => {
    const key = randomUUID();
    await system.provider.fault('drop_before', { times: 2 });
    await system.provider.fault('search_down', { times: 1_000 });
    expect((await checkout(key)).status).toBe(503);
    await windowPasses(key);
    await system.addWorker();
    for (let tries = 1; tries < MAX_TRIES; tries++) {
      await allDue();
      await rowWhere(key, (found) => found.doubtful_tries >= tries && found.locked_until === null);
    }
    expect((await checkout(key)).body.code).toBe('outcome_unknown');
    await allDue();
    await expectUnderReview(key);
  });

  async function expectUnderReview(key: string): Promise<void> {
    await rowWhere(key, ({ status }) => status === 'review');
    const held = await checkout(key);
    expect([held.status, held.body.code]).toEqual([409, 'idempotency_key_under_review']);
    const { charge } = await truth(key);
    expect(charge).toMatchObject({ status: 'review' });
    expect(await chargesOf(charge.orderId)).toEqual([]);
  }

  const windowPasses = (key: string) =>
    system.database.sql(
      "UPDATE idempotency_keys SET first_sent_at = now() - interval '25 h' WHERE key = $1",
      [key],
    );
});
