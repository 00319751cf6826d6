import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutBody, post, type Answer } from '../support/checkout.js';
import { operate, OPERATORS } from '../support/operator.js';
import { startSystem, type System } from '../support/start-system.js';

let system: System;
beforeAll(async () => {
  system = await startSystem({ OPERATOR_TOKENS: OPERATORS.ada });
});
afterAll(() => system.stop());
afterEach(() => Promise.all([system.provider.clearFaults(), system.mailbox.clearFaults()]));

const api = () => system.apis[0]!.url;
const sql = (text: string, values?: unknown[]) => system.database.sql(text, values);
const checkout = (key: string) => post(`${api()}/v1/checkouts`, checkoutBody(), { key });

const rowOf = async (key: string) =>
  (await sql('SELECT * FROM idempotency_keys WHERE key = $1', [key]))[0] as Record<string, unknown>;

async function until(what: () => Promise<boolean>): Promise<void> {
  while (!(await what())) await sleep(50);
}

/** The provider takes the money and drops its answer, then is down for an hour of the worker's tries. */
async function chargedThenDown(key: string): Promise<void> {
  await system.provider.fault('drop_after', { times: 2 });
  await system.provider.fault('search_down', { times: 1 });
  expect((await checkout(key)).body.code).toBe('outcome_unknown');
  await system.provider.fault('down', { times: 1_000 });
  for (let tries = 1; tries <= 3; tries++) {
    await sql("UPDATE idempotency_keys SET next_run_at = now() - interval '1 s' WHERE key = $1", [key]);
    await until(async () => {
      const { completer_tries, locked_until } = await rowOf(key);
      return Number(completer_tries) >= tries && locked_until === null; // the next may have come by itself
    });
  }
  await sql(
    `UPDATE idempotency_keys SET created_at = created_at - interval '25 h', first_sent_at = first_sent_at - interval '25 h'
      WHERE key = $1`,
    [key],
  );
}

async function expectChargedOnce({ body }: Answer): Promise<void> {
  const { charges } = await system.provider.ledger();
  expect(charges.filter(({ metadata }) => metadata['order_id'] === body.order.id)).toMatchObject([
    { status: 'succeeded', amount: 1700 },
  ]);
}

const worker = () => system.addWorker({ PROVIDER_BREAKER_FAILURES: '1000' });

describe('A provider that charged, lost its answer, was down for an hour, and has forgotten the key', () => {
  it('is asked what became of the charge, and what is found is adopted [Q-5, P-9]', async () => {
    const by = await worker();
    const key = randomUUID();
    await chargedThenDown(key);
    await system.provider.clearFaults();
    await sql("UPDATE idempotency_keys SET next_run_at = now() - interval '1 s' WHERE key = $1", [key]);
    await until(async () => (await rowOf(key))['status'] === 'finished');
    const answer = await checkout(key);
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    await expectChargedOnce(answer);
    await by.stop();
  });

  it('and whose search fails as well leaves it to a person, after whose word the retry gets the normal 201 [Q-4]', async () => {
    const by = await worker();
    const key = randomUUID();
    await chargedThenDown(key);
    await sql(
      "UPDATE idempotency_keys SET doubtful_tries = 1000, next_run_at = now() - interval '1 s' WHERE key = $1",
      [key],
    );
    await until(async () => (await rowOf(key))['status'] === 'review');
    expect((await checkout(key)).body.code).toBe('idempotency_key_under_review');
    await system.provider.clearFaults();
    const [review] = (await operate(api(), 'get', 'reviews?status=open&limit=1')).body.data;
    const { charges } = await system.provider.ledger();
    const made = charges.find(({ metadata }) => metadata['charge_id'] === review.charge.id)!;
    const body = { decision: 'mark_succeeded', providerId: made.id };
    const decided = await operate(api(), 'put', `reviews/${review.id}/decision`, {
      body,
      token: OPERATORS.ada,
    });
    expect(decided.status).toBe(200);
    const answer = await checkout(key);
    expect([answer.status, answer.body.charge.status]).toEqual([201, 'succeeded']);
    await expectChargedOnce(answer);
    await by.stop();
  });
});

describe('Receipts', () => {
  /** Those of other tests are none of these. */
  beforeEach(async () => {
    await sql('DELETE FROM outbox_messages');
    await system.mailbox.clear();
  });

  it('come twice at most, under one Message-ID, where the worker is killed between sending and marking [WO-5]', async () => {
    await system.mailbox.fault({ kind: 'delay', times: 1, delayMs: 20_000 }); // taken, and not said so yet
    const doomed = await worker();
    const answer = await checkout(randomUUID());
    const [first] = await system.mailbox.received(1);
    await doomed.kill('SIGKILL');
    await sql("UPDATE outbox_messages SET due_at = now() - interval '1 s' WHERE sent_at IS NULL"); // its lease is over
    const successor = await worker();
    const mails = await system.mailbox.received(2);
    expect(mails.map(({ messageId }) => messageId)).toEqual([first!.messageId, first!.messageId]);
    await until(async () => (await sql('SELECT 1 FROM outbox_messages WHERE sent_at IS NULL')).length === 0);
    expect(await system.mailbox.messages()).toHaveLength(2);
    await expectChargedOnce(answer);
    await successor.stop();
  });

  it('wait for a mail server that is down for hours, and come once when it is back', async () => {
    await system.mailbox.fault({ kind: 'defer', times: 1_000 });
    const by = await worker();
    const { body } = await checkout(randomUUID());
    const message = async () =>
      (await sql('SELECT * FROM outbox_messages WHERE ordering_key = $1', [body.order.id]))[0] as Record<
        string,
        unknown
      >;
    for (let tries = 1; tries <= 8; tries++) {
      await until(
        async () =>
          Number((await message())['attempts']) >= tries && (await message())['claim_token'] === null,
      );
      await sql("UPDATE outbox_messages SET due_at = now() - interval '1 s' WHERE sent_at IS NULL");
    }
    await system.mailbox.clearFaults();
    await until(async () => {
      await sql(
        "UPDATE outbox_messages SET due_at = now() - interval '1 s' WHERE sent_at IS NULL AND claim_token IS NULL",
      );
      return (await message())['sent_at'] !== null;
    });
    expect(await system.mailbox.messages()).toHaveLength(1);
    await by.stop();
  });
});
