import { randomUUID } from 'node:crypto';
import { checkoutBody, get, orderBody, post, type Answer } from '../support/checkout.js';
import { startSystem, type System } from '../support/start-system.js';

describe('Two API processes on one database', () => {
  let system: System;
  beforeAll(async () => {
    system = await startSystem({ apis: 2, workers: 1 });
  });
  afterAll(() => system.stop());

  const either = (n: number, path: string) => `${system.apis[n % 2]!.url}${path}`;
  const chargesOf = async (orderId: string) =>
    (await system.provider.ledger()).charges.filter(({ metadata }) => metadata['order_id'] === orderId);

  function expectOneAnswer(answers: readonly Answer[]): Answer {
    const done = answers.filter(({ status }) => status === 201);
    const busy = answers.filter(({ status }) => status === 409);
    expect(done.length).toBeGreaterThanOrEqual(1);
    expect(done.length + busy.length).toBe(answers.length);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    for (const { body, headers } of busy) {
      expect(body.code).toBe('idempotency_key_in_use');
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    return done[0]!;
  }

  it('run 50 simultaneous checkouts with one key once: one order, charge, ledger row and receipt [C-1, C-2, C-3]', async () => {
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => post(either(n, '/v1/checkouts'), checkoutBody(), { key })),
    );
    const { order } = expectOneAnswer(answers).body;
    expect(await chargesOf(order.id)).toHaveLength(1);
    const [counts] = await system.database.sql(
      `SELECT (SELECT count(*)::int FROM orders) AS orders, (SELECT count(*)::int FROM ledger_entries) AS ledger,
              (SELECT count(*)::int FROM outbox_messages) AS outbox`,
    );
    expect(counts).toEqual({ orders: 1, ledger: 1, outbox: 1 });
    const mails = await system.mailbox.received(1);
    expect(mails).toHaveLength(1);
    expect(mails[0]).toMatchObject({ to: expect.stringContaining('ada@example.com') as string });
  });

  it('charge an order once, however many keys ask for it at the same time [T-9]', async () => {
    const order = await post(either(0, '/v1/orders'), orderBody());
    const body = { orderId: order.body.id, paymentMethod: 'pm_card_visa' };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => post(either(n, '/v1/charges'), body)),
    );
    const paid = answers.filter(({ status }) => status === 201);
    expect(paid).toHaveLength(1);
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused).toHaveLength(49);
    expect(new Set(refused.map(({ body }) => body.code))).toEqual(
      new Set(
        refused
          .map(({ body }) => body.code)
          .filter((code) => /^order_(payment_in_progress|already_paid)$/.test(code as string)),
      ),
    );
    expect(await chargesOf(order.body.id)).toHaveLength(1);
    expect((await get(either(0, `/v1/orders/${order.body.id}`))).body.status).toBe('paid');
  });

  it('run the same body under two keys twice [C-12]', async () => {
    const [a, b] = await Promise.all([0, 1].map((n) => post(either(n, '/v1/checkouts'), checkoutBody())));
    expect([a!.status, b!.status]).toEqual([201, 201]);
    expect(a!.body.order.id).not.toBe(b!.body.order.id);
  });

  it('take an externalRef once, whatever the key, and say whose it is', async () => {
    const body = checkoutBody({ externalRef: randomUUID() });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => post(either(n, '/v1/checkouts'), body)),
    );
    const paid = answers.filter(({ status }) => status === 201);
    const taken = answers.filter(({ status }) => status === 409);
    expect([paid.length, taken.length]).toEqual([1, 19]);
    for (const { body: problem, headers } of taken) {
      expect(problem).toMatchObject({ code: 'external_ref_taken', orderId: paid[0]!.body.order.id });
      expect(headers.get('should-retry')).toBe('false');
    }
    expect(await chargesOf(paid[0]!.body.order.id)).toHaveLength(1);
  });

  it('answer one key with many bodies once, and refuse the others [C-1, X-1]', async () => {
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        post(either(n, '/v1/checkouts'), checkoutBody({ metadata: { n: String(n) } }), { key }),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status !== 201 && status !== 422 && status !== 409)).toEqual([]);
    const { order } = answers.find(({ status }) => status === 201)!.body;
    expect(await chargesOf(order.id)).toHaveLength(1);
  });
});
