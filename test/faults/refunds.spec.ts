import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { get, type Answer } from '../support/checkout.js';
import { expectLedgersAgree, pay, refund, refundsAtProvider } from '../support/refunds.js';
import type { SpawnedApi } from '../support/start-api.js';
import { startSystem, type System } from '../support/start-system.js';

let system: System;
beforeAll(async () => {
  system = await startSystem({ apis: 2, workers: 1, FAULTS: 'on' });
});
afterEach(() => expectLedgersAgree(system.database, system.provider));
afterAll(() => system.stop());

const atProvider = (chargeId: string) => refundsAtProvider(system.database, system.provider, chargeId);

const sumOf = (refunds: readonly { amount: number }[]) =>
  refunds.reduce((sum, { amount }) => sum + amount, 0);

/** As a client would: the same key again, for as long as the answer asks for it. */
async function untilFinal(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.headers.get('should-retry') !== 'true') return answer;
    await sleep(Math.random() * 200);
  }
}

describe('Refunds at the same time, by two processes', () => {
  const either = (n: number) => system.apis[n % 2]!.url;

  it('with a key each never give back more than the charge: the others lose, for good [MON-8]', async () => {
    const { charge } = await pay(either(0));
    const keys = Array.from({ length: 20 }, () => randomUUID());
    const ask = (key: string, n: number) =>
      untilFinal(() => refund(either(n), charge.id, { amount: 500 }, { key }));
    const answers = await Promise.all(keys.map(ask));
    const made = answers.filter(({ status }) => status === 201);
    const lost = answers.filter(({ status }) => status === 409);
    expect([made.length, lost.length]).toEqual([3, 17]);
    expect(new Set(lost.map(({ body }) => body.code))).toEqual(new Set(['refund_amount_too_large']));
    expect(sumOf(await atProvider(charge.id))).toBe(1500);
    expect((await get(`${either(0)}/v1/charges/${charge.id}`)).body.amountRefunded).toBe(1500);
    const again = await Promise.all(keys.map(ask));
    expect(again.map(({ text }) => text)).toEqual(answers.map(({ text }) => text));
    expect(await atProvider(charge.id)).toHaveLength(3);
  });

  it('with a key each of the whole charge are one refund [MON-8]', async () => {
    const { charge } = await pay(either(0));
    const keys = Array.from({ length: 20 }, () => randomUUID());
    const answers = await Promise.all(
      keys.map((key, n) => untilFinal(() => refund(either(n), charge.id, {}, { key }))),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const lost = answers.filter(({ status }) => status !== 201).map(({ body }) => body.code as string);
    expect(new Set(lost)).toEqual(new Set(['charge_already_refunded']));
    expect(await atProvider(charge.id)).toHaveLength(1);
  });

  it('with one key are one refund, and one mail', async () => {
    const { charge } = await pay(either(0));
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        untilFinal(() => refund(either(n), charge.id, { amount: 100 }, { key })),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await atProvider(charge.id)).toHaveLength(1);
    await expectMailsOnce();
  });
});

describe('A refund', () => {
  let api: SpawnedApi;
  beforeAll(() => {
    api = system.apis[0]!;
  });

  /** Time moves by back-dating: the leases of dead owners are over. */
  const leasesEnd = () =>
    system.database.sql(
      "UPDATE idempotency_keys SET locked_until = now() - interval '1 s' WHERE status = 'in_progress'",
    );

  async function expectRefundedOnce(chargeId: string, key: string): Promise<void> {
    await leasesEnd();
    const answer = await refund(api.url, chargeId, { amount: 900 }, { key });
    expect([answer.status, answer.body.status]).toEqual([201, 'succeeded']);
    expect((await refund(api.url, chargeId, { amount: 900 }, { key })).text).toBe(answer.text);
    expect(await atProvider(chargeId)).toHaveLength(1);
    expect((await get(`${api.url}/v1/charges/${chargeId}`)).body.amountRefunded).toBe(900);
    const [counts] = await system.database.sql(
      `SELECT (SELECT count(*)::int FROM refunds WHERE charge_id = $1) AS refunds,
              (SELECT count(*)::int FROM ledger_entries WHERE subject = $2) AS ledger,
              (SELECT count(*)::int FROM outbox_messages WHERE dedupe_key = 'refund-receipt:' || $2) AS outbox`,
      [chargeId, answer.body.id],
    );
    expect(counts).toEqual({ refunds: 1, ledger: 1, outbox: 1 });
  }

  it.each([
    ['phase.before_commit:refund_reserved', 'nothing has happened'],
    ['phase.after_commit:refund_reserved', 'the amount is reserved'],
    ['call.before:refund', 'the request is frozen'],
    ['call.after:refund', 'the refund is made'],
    ['phase.before_commit:finished', 'the refund is made, nothing of it is written'],
    ['phase.after_commit:finished', 'everything is done'],
    ['reply.before_send', 'everything is done'],
  ])('survives kill -9 at %s: %s', async (point) => {
    const { charge } = await pay(api.url);
    const key = randomUUID();
    const headers = { 'sandbox-fault': `${point}=crash` };
    await expect(refund(api.url, charge.id, { amount: 900 }, { key, headers })).rejects.toThrow();
    expect(await api.kill('SIGKILL')).toBeNull();
    api = await system.addApi();
    await expectRefundedOnce(charge.id, key);
  });

  it.each(['phase.before_commit:refund_reserved', 'phase.before_commit:finished'])(
    'survives a COMMIT whose answer is lost at %s',
    async (point) => {
      const { charge } = await pay(api.url);
      const key = randomUUID();
      const headers = { 'sandbox-fault': `${point}=lose_commit_answer` };
      const answer = await refund(api.url, charge.id, { amount: 900 }, { key, headers });
      expect(answer.status).toBe(201);
      await expectRefundedOnce(charge.id, key);
    },
  );

  it.each(['call.before:refund', 'call.after:refund', 'phase.before_commit:finished'])(
    'survives an error at %s',
    async (point) => {
      const { charge } = await pay(api.url);
      const key = randomUUID();
      const headers = { 'sandbox-fault': `${point}=throw` };
      const broken = await refund(api.url, charge.id, { amount: 900 }, { key, headers });
      expect(broken.status).toBe(500);
      await expectRefundedOnce(charge.id, key);
    },
  );

  it('is told of once by mail, whatever happened to it', async () => {
    await expectMailsOnce();
  });
});

/** One mail for each order that was paid and each refund that succeeded. */
async function expectMailsOnce(): Promise<void> {
  const [{ count }] = (await system.database.sql<{ count: number }>(
    "SELECT count(*)::int FROM ledger_entries WHERE kind IN ('charge', 'refund')",
  )) as [{ count: number }];
  const mails = await system.mailbox.received(count);
  expect(mails).toHaveLength(count);
  expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(count);
}
