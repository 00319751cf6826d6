import { randomUUID } from 'node:crypto';
import { Completer } from '../../../src/idempotency/completer.js';
import { get, post, type PostOptions } from '../../../test/support/checkout.js';
import { addMigrations } from '../../../test/support/database.js';
import { RecoveryParts } from '../../../test/support/recovery-parts.module.js';
import { expectLedgersAgree, pay, refund, refundsAtProvider } from '../../../test/support/refunds.js';
import { openShop, type Shop } from '../../../test/support/shop.js';
import { spawnApi } from '../../../test/support/start-api.js';
import { ItemReturns1764500000000 } from './item-returns.migration.js';
import { ReturnsRoutes } from './return-items.module.js';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop({ ROLE: 'api' }, [ReturnsRoutes, RecoveryParts]);
  await addMigrations(shop.db, [ItemReturns1764500000000], 'SELECT, INSERT ON item_returns');
});
afterAll(() => shop.close());
afterEach(async () => {
  await shop.provider.clearFaults();
  await expectLedgersAgree(shop.db, shop.provider);
});

const returnItems = (orderId: string, quantity: number, options: PostOptions = {}, url = shop.api.url) =>
  post(`${url}/v1/orders/${orderId}/returns`, { line: 0, quantity }, options);
/** @returns what it was called before */
const nameAtProvider = async (chargeId: string, providerId: string) => {
  const [before] = await shop.db.sql<{ providerId: string }>(
    'SELECT provider_id AS "providerId" FROM charges WHERE id = $1',
    [chargeId],
  );
  await shop.db.sql('UPDATE charges SET provider_id = $2 WHERE id = $1', [chargeId, providerId]);
  return before!;
};
const made = (chargeId: string) => refundsAtProvider(shop.db, shop.provider, chargeId);

describe('Items that come back', () => {
  it('are refunded at their price, and a retry of the request is a replay', async () => {
    const { order, charge } = await pay(shop.api.url); // two of tea-250, 8.50 each
    const key = randomUUID();
    const answer = await returnItems(order.id, 1, { key });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ chargeId: charge.id, amount: 850, status: 'succeeded' });
    const again = await returnItems(order.id, 1, { key });
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([answer.text, 'true']);
    expect(await made(charge.id)).toMatchObject([{ amount: 850 }]);
    expect((await get(`${shop.api.url}/v1/orders/${order.id}`)).body.amountRefunded).toBe(850);
  });

  it('are never more than were bought, under however many keys', async () => {
    const { order, charge } = await pay(shop.api.url);
    const answers = await Promise.all(Array.from({ length: 6 }, () => returnItems(order.id, 1)));
    const codes = answers.map(({ status, body }) => (status === 201 ? 'returned' : body.code)).sort();
    expect(codes).toEqual([...Array<string>(4).fill('items_not_returnable'), 'returned', 'returned']);
    expect(await made(charge.id)).toHaveLength(2);
  });

  it('are not paid for twice where a part of the money went back already', async () => {
    const { order, charge } = await pay(shop.api.url);
    expect((await refund(shop.api.url, charge.id, { amount: 1000 })).status).toBe(201);
    const refused = await returnItems(order.id, 1);
    expect([refused.status, refused.body.code, refused.body.left]).toEqual([409, 'items_not_returnable', 0]);
    expect(await made(charge.id)).toHaveLength(1);
  });

  it('come back again where their refund was refused', async () => {
    const { order, charge } = await pay(shop.api.url);
    const { providerId } = await nameAtProvider(charge.id, 'pi_nobodys');
    expect((await returnItems(order.id, 2)).body.code).toBe('refund_rejected');
    await nameAtProvider(charge.id, providerId);
    expect((await returnItems(order.id, 2)).status).toBe(201);
  });

  it('wait for an order to be paid, without a trace', async () => {
    const { body: order } = await post(`${shop.api.url}/v1/orders`, { ...ORDER });
    const key = randomUUID();
    expect((await returnItems(order.id, 1, { key })).body.code).toBe('order_not_paid');
    await post(`${shop.api.url}/v1/charges`, { orderId: order.id, paymentMethod: 'pm_card_visa' });
    expect((await returnItems(order.id, 1, { key })).status).toBe(201);
  });

  it('belong to an order that there is', async () => {
    for (const id of ['%00', 'ord_1', `ord_${'0'.repeat(26)}`])
      expect((await returnItems(id, 1)).body.code).toBe('order_not_paid');
  });

  it.each([{ quantity: 0 }, { quantity: 1.5 }, { quantity: '1' }, { line: -1 }, { sku: 'tea-250' }])(
    'are named by line and quantity, and not by %j',
    async (changes) => {
      const { order } = await pay(shop.api.url);
      const body = { line: 0, quantity: 1, ...changes };
      const answer = await post(`${shop.api.url}/v1/orders/${order.id}/returns`, body);
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    },
  );
});

describe('A return that was interrupted', () => {
  /** Time moves by back-dating: the lease of the dead owner is over, and its client has gone for good. */
  const pass = (key: string) =>
    shop.db.sql(
      `UPDATE idempotency_keys SET locked_until = now() - interval '1 s', next_run_at = now() - interval '1 s'
        WHERE key = $1`,
      [key],
    );

  it.each([
    ['phase.after_commit:refund_reserved', 'the amount is reserved'],
    ['call.after:refund', 'the money is on its way back, and nobody has written it down'],
    ['phase.before_commit:finished', 'everything is written, and nothing committed'],
  ])('survives kill -9 at %s: %s', async (point) => {
    const { order, charge } = await pay(shop.api.url);
    const key = randomUUID();
    const victim = await spawnApi(
      { databaseUrl: shop.db.url, providerUrl: shop.provider.url, ROLE: 'api', FAULTS: 'on' },
      ['--import', './test/torture/register.mjs', 'docs/examples/return-items/main.ts'],
    );
    const headers = { 'sandbox-fault': `${point}=crash` };
    await expect(returnItems(order.id, 2, { key, headers }, victim.url)).rejects.toThrow();
    expect(await victim.kill('SIGKILL')).toBeNull();

    await pass(key);
    const answer = await returnItems(order.id, 2, { key });
    expect(answer).toMatchObject({ status: 201, body: { amount: 1700, status: 'succeeded' } });
    expect((await returnItems(order.id, 2, { key })).text).toBe(answer.text);
    expect(await made(charge.id)).toHaveLength(1);
  });

  it('is finished by the completer where its client never comes back', async () => {
    const { order, charge } = await pay(shop.api.url);
    const key = randomUUID();
    await shop.provider.fault('drop_after', { times: 2 });
    await shop.provider.fault('search_down', { times: 1 });
    expect((await returnItems(order.id, 1, { key })).status).toBe(503);
    await pass(key);
    expect(await shop.api.app.get(Completer).runOnce()).toMatchObject({ finished: 1 });
    expect((await returnItems(order.id, 1, { key })).headers.get('idempotent-replayed')).toBe('true');
    expect(await made(charge.id)).toHaveLength(1);
  });
});

const ORDER = {
  currency: 'eur',
  items: [{ sku: 'tea-250', quantity: 1, unitAmount: 850 }],
  customer: { email: 'ada@example.com' },
};
