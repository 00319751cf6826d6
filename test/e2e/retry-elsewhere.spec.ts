import { randomUUID } from 'node:crypto';
import { checkoutBody, post } from '../support/checkout.js';
import { startSystem, type System } from '../support/start-system.js';

/** Each process claims keys that are new to it without a look at their rows: what it meets then is as if it had looked. */
describe('A retry that comes to a process which has not seen its key', () => {
  let system: System;
  beforeAll(async () => void (system = await startSystem({ apis: 2, FAULTS: 'on' })));
  afterAll(() => system.stop());

  const here = (key: string, body: object = checkoutBody(), headers: Record<string, string> = {}) =>
    post(`${system.apis[0]!.url}/v1/checkouts`, body, { key, headers });
  const there = (key: string, body: object = checkoutBody()) =>
    post(`${system.apis[1]!.url}/v1/checkouts`, body, { key });
  /** The whole row, and who has locked or written it last. */
  const rowOf = async (key: string) => {
    const [row] = await system.database.sql(
      'SELECT xmin::text, xmax::text, ctid::text, k.* FROM idempotency_keys k WHERE key = $1',
      [key],
    );
    return row;
  };
  const ordersOf = async () => {
    const [row] = await system.database.sql<{ orders: number }>('SELECT count(*)::int AS orders FROM orders');
    return row!.orders;
  };

  it('is a replay, which neither writes nor locks [R-5]', async () => {
    const key = randomUUID();
    const first = await here(key);
    const [row, orders] = [await rowOf(key), await ordersOf()];
    const replay = await there(key);
    expect([replay.status, replay.text]).toEqual([201, first.text]);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect([await rowOf(key), await ordersOf()]).toEqual([row, orders]);
  });

  it('is a mismatch where its body is another, be it one that would be refused by itself [R-10]', async () => {
    const key = randomUUID();
    await here(key);
    for (const body of [checkoutBody({ currency: 'usd' }), checkoutBody({ currency: 'none' }), {}])
      expect((await there(key, body)).body.code).toBe('idempotency_key_mismatch');
  });

  it('is refused while the first holds it, and goes on where the first was left', async () => {
    const [held, left] = [randomUUID(), randomUUID()];
    const headers = { 'Sandbox-Fault': 'call.before:charge=throw' };
    for (const key of [held, left])
      expect((await here(key, checkoutBody(), headers)).status).toBeGreaterThanOrEqual(500);
    await system.database.sql(
      "UPDATE idempotency_keys SET locked_until = now() + interval '1 min' WHERE key = $1",
      [held],
    );
    const orders = await ordersOf();
    expect((await there(held)).body.code).toBe('idempotency_key_in_use');
    expect((await there(left)).status).toBe(201);
    expect(await ordersOf()).toBe(orders);
  });

  it('is a purchase of its own where the key has expired', async () => {
    const key = randomUUID();
    const first = await here(key);
    await system.database.sql(
      "UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1",
      [key],
    );
    const second = await there(key);
    expect(second.status).toBe(201);
    expect(second.body.order.id).not.toBe(first.body.order.id);
  });
});
