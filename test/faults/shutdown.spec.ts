import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutBody, post, type Answer } from '../support/checkout.js';
import { startSystem, type System } from '../support/start-system.js';

let system: System;
beforeEach(async () => void (system = await startSystem()));
afterEach(() => system.stop());

const checkout = (url: string, key: string) => post(`${url}/v1/checkouts`, checkoutBody(), { key });

describe('A process that is told to stop with 64 checkouts in flight', () => {
  it('answers each of them, takes no other, and its successor has lost nothing', async () => {
    const [api] = system.apis;
    await system.provider.fault('delay', { times: 64, delayMs: 1_000 });
    const keys = Array.from({ length: 64 }, () => randomUUID());
    const answers = keys.map((key) => checkout(api!.url, key));
    await allWaitForTheProvider(64);
    const exited = api!.stop();
    while (!api!.logs().includes('Shutting down')) await sleep(5);
    await expect(checkout(api!.url, randomUUID())).rejects.toThrow(); // nobody listens any more
    const told = await Promise.all(answers);
    expect(told.map(({ status }) => status)).toEqual(keys.map(() => 201));
    expect(told.every(({ headers }) => headers.get('connection') === 'close')).toBe(true);
    expect(await exited).toBe(0);
    await expectSameFrom((await system.addApi()).url, keys, told);
  });

  it('is killed when it takes too long: every key is taken up again, and charged once', async () => {
    const [api] = system.apis;
    await system.provider.fault('delay', { times: 64, delayMs: 1_500 });
    const keys = Array.from({ length: 64 }, () => randomUUID());
    const cut = keys.map((key) => expect(checkout(api!.url, key)).rejects.toThrow());
    await allWaitForTheProvider(64);
    await api!.kill('SIGKILL');
    await Promise.all(cut);
    await system.database.sql("UPDATE idempotency_keys SET locked_until = now() - interval '1 s'");
    await system.provider.clearFaults();
    const next = await system.addApi();
    const told = await Promise.all(keys.map((key) => untilFinal(() => checkout(next.url, key))));
    expect(told.map(({ status }) => status)).toEqual(keys.map(() => 201));
    expect((await system.provider.ledger()).charges).toHaveLength(64);
  });
});

/** The provider acts at once and answers late: then the service waits for it. */
async function allWaitForTheProvider(count: number): Promise<void> {
  while ((await system.provider.ledger()).charges.length < count) await sleep(5);
}

async function expectSameFrom(
  url: string,
  keys: readonly string[],
  before: readonly Answer[],
): Promise<void> {
  const again = await Promise.all(keys.map((key) => checkout(url, key)));
  expect(again.map(({ text }) => text)).toEqual(before.map(({ text }) => text));
  expect((await system.provider.ledger()).charges).toHaveLength(keys.length);
}

async function untilFinal(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.headers.get('should-retry') !== 'true') return answer;
    await sleep(50);
  }
}
