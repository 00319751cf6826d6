import { randomUUID } from 'node:crypto';
import { Completer } from '../../../src/idempotency/completer.js';
import { InboxConsumer } from '../../../src/inbox/inbox-consumer.js';
import { get, orderBody, post, type PostOptions } from '../../../test/support/checkout.js';
import { addMigrations } from '../../../test/support/database.js';
import { openEventShop, type EventShop } from '../../../test/support/event-shop.js';
import { RecoveryParts } from '../../../test/support/recovery-parts.module.js';
import { expectLedgersAgree, refundsAtProvider } from '../../../test/support/refunds.js';
import { spawnApi } from '../../../test/support/start-api.js';
import { authenticate, eventAbout, intentOf } from '../../../test/support/webhooks.js';
import { ShipOrderModule } from './ship-order.module.js';
import { Shipments1764500100000 } from './shipments.migration.js';
import { startWarehouse, type TestWarehouse } from './test-warehouse.js';

let shop: EventShop;
let warehouse: TestWarehouse;
beforeAll(async () => {
  warehouse = await startWarehouse();
  shop = await openEventShop({}, [ShipOrderModule.at(warehouse.url), RecoveryParts]);
  await addMigrations(shop.db, [Shipments1764500100000], 'SELECT, INSERT, UPDATE ON shipments');
});
afterAll(async () => {
  await shop.close();
  await warehouse.close();
});
beforeEach(() => {
  warehouse.fault();
  warehouse.held.clear();
  warehouse.keys.length = 0;
  warehouse.stock.set('tea-250', 10);
});
afterEach(async () => {
  await shop.clean();
  await expectLedgersAgree(shop.db, shop.provider);
});

const newOrder = async () => (await post(`${shop.api.url}/v1/orders`, orderBody())).body.id as string;
const ship = (
  orderId: string,
  options: PostOptions = {},
  url = shop.api.url,
  paymentMethod = 'pm_card_visa',
) => post(`${url}/v1/orders/${orderId}/shipments`, { paymentMethod }, options);
const readOrder = async (orderId: string) => (await get(`${shop.api.url}/v1/orders/${orderId}`)).body;
const complete = () => shop.api.app.get(Completer, { strict: false }).runOnce();
const shipmentOf = async (orderId: string) =>
  (await shop.db.sql('SELECT status, reservation_id FROM shipments WHERE order_id = $1', [orderId]))[0];

/** Time moves by back-dating: leases of the dead are over. */
const leasesEnd = () =>
  shop.db.sql('UPDATE idempotency_keys SET locked_until = NULL WHERE locked_until > now()');

/** All that was taken went back, once, however often somebody looks for more to do. */
async function expectGivenBackOnce(orderId: string): Promise<void> {
  await leasesEnd();
  await complete();
  await complete();
  const [charge, ...others] = await shop.chargesOf(orderId);
  expect([charge!.amount, others]).toEqual([1700, []]);
  const refunds = await refundsAtProvider(shop.db, shop.provider, charge!.metadata['charge_id']!);
  expect(refunds).toMatchObject([{ amount: 1700, status: 'succeeded', calls: 1 }]);
  expect(await readOrder(orderId)).toMatchObject({ status: 'paid', amountRefunded: 1700 });
  expect(await shipmentOf(orderId)).toEqual({ status: 'refused', reservation_id: null });
  expect(warehouse.held.size).toBe(0);
}

async function expectReservedOnce(orderId: string): Promise<void> {
  const taken = (await shop.chargesOf(orderId)).filter(({ status }) => status === 'succeeded');
  expect(taken).toMatchObject([{ amount: 1700 }]);
  expect([...warehouse.held.values()]).toEqual([{ orderId, items: [{ sku: 'tea-250', quantity: 2 }] }]);
  expect(new Set(warehouse.keys).size).toBe(1); // one derived key, however often it was sent
  expect(await readOrder(orderId)).toMatchObject({ status: 'paid', amountRefunded: 0 });
  expect(await shipmentOf(orderId)).toMatchObject({ status: 'reserved' });
}

describe('An order that is paid and shipped in one request', () => {
  it('is charged once and reserved once, and a retry is a replay', async () => {
    const [orderId, key] = [await newOrder(), randomUUID()];
    const answer = await ship(orderId, { key });
    expect(answer).toMatchObject({ status: 201, body: { orderId, status: 'reserved' } });
    const again = await ship(orderId, { key });
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([answer.text, 'true']);
    await expectReservedOnce(orderId);
  });

  it('sends the warehouse another derived key than the provider', async () => {
    const orderId = await newOrder();
    await ship(orderId);
    const [charge] = await shop.chargesOf(orderId);
    expect(charge!.idempotencyKey).toMatch(/^test:idem_\w+:charge$/);
    expect(warehouse.keys).toEqual([charge!.idempotencyKey!.replace(/charge$/, 'reserve')]);
  });

  it('is shipped once under however many keys', async () => {
    const orderId = await newOrder();
    expect((await ship(orderId)).status).toBe(201);
    const answers = await Promise.all([ship(orderId), ship(orderId)]);
    expect(answers.map(({ body }) => body.code)).toEqual(['order_already_shipped', 'order_already_shipped']);
    await expectReservedOnce(orderId);
  });

  it('asks the warehouse for nothing where the card is declined', async () => {
    const orderId = await newOrder();
    const declined = await ship(orderId, {}, shop.api.url, 'pm_card_chargeDeclined');
    expect([declined.status, warehouse.keys]).toEqual([402, []]);
    expect((await ship(orderId)).status).toBe(201);
    await expectReservedOnce(orderId);
  });

  it('waits for a customer who is at the bank; then another key has the goods reserved, and charges nothing', async () => {
    const orderId = await newOrder();
    const open = await ship(orderId, {}, shop.api.url, 'pm_card_authenticationRequired');
    expect([open.status, open.body.code, warehouse.keys]).toEqual([402, 'payment_not_complete', []]);
    const { id } = await intentOf(shop.provider, open.body.chargeId);
    await authenticate(shop.provider, id, 'succeed');
    await shop.told(eventAbout(await intentOf(shop.provider, open.body.chargeId)));
    await shop.api.app.get(InboxConsumer, { strict: false }).runOnce();
    expect((await ship(orderId)).status).toBe(201);
    await expectReservedOnce(orderId);
  });

  it('has to be there', async () => {
    for (const id of ['%00', 'ord_1', `ord_${'0'.repeat(26)}`])
      expect((await ship(id)).body.code).toBe('order_not_found');
  });
});

describe('What the warehouse refuses for good', () => {
  it('is a final answer, and the money goes back once', async () => {
    warehouse.stock.set('tea-250', 1);
    const [orderId, key] = [await newOrder(), randomUUID()];
    const refused = await ship(orderId, { key });
    expect([refused.status, refused.body.code]).toEqual([409, 'out_of_stock']);
    await expectGivenBackOnce(orderId);
    warehouse.stock.set('tea-250', 10);
    expect((await ship(orderId, { key })).text).toBe(refused.text);
    expect((await ship(orderId)).body.code).toBe('order_already_shipped');
    await expectGivenBackOnce(orderId);
  });

  it.each([
    ['phase.after_commit:order_paid', 'it is paid, and nothing is asked of the warehouse'],
    ['call.after:reserve', 'the warehouse has refused, and nobody has written it down'],
    ['phase.before_commit:finished', 'the refund is begun, and nothing committed'],
    ['phase.after_commit:finished', 'the refund is begun, and not made'],
  ])('goes back once also where the process dies at %s: %s', async (point) => {
    warehouse.stock.set('tea-250', 1);
    const [orderId, key] = [await newOrder(), randomUUID()];
    await dies(orderId, key, point);
    expect((await ship(orderId, { key })).body.code).toBe('out_of_stock');
    await expectGivenBackOnce(orderId);
  });
});

describe('A reservation whose outcome is not known', () => {
  it('is asked for again under the same derived key, and made once', async () => {
    const [orderId, key] = [await newOrder(), randomUUID()];
    warehouse.fault('drop_after', 'drop_after', 'no_lookups');
    expect((await ship(orderId, { key })).body.code).toBe('outcome_unknown');
    expect(await shipmentOf(orderId)).toEqual({ status: 'reserving', reservation_id: null });
    expect((await ship(orderId, { key })).status).toBe(201);
    expect(warehouse.keys).toHaveLength(3);
    await expectReservedOnce(orderId);
  });

  it('is looked up where no answer comes, and adopted', async () => {
    const orderId = await newOrder();
    warehouse.fault('drop_after', 'drop_after');
    expect((await ship(orderId)).status).toBe(201);
    await expectReservedOnce(orderId);
  });

  it('is finished by the completer where the client does not come back', async () => {
    const [orderId, key] = [await newOrder(), randomUUID()];
    warehouse.fault('drop_before', 'down', 'no_lookups');
    expect((await ship(orderId, { key })).status).toBe(503);
    await shop.db.sql('UPDATE idempotency_keys SET next_run_at = now() WHERE key = $1', [key]);
    expect(await complete()).toMatchObject({ finished: 1 });
    await expectReservedOnce(orderId);
    expect((await ship(orderId, { key })).headers.get('idempotent-replayed')).toBe('true');
  });

  it('is made once also where the process dies with the answer', async () => {
    const [orderId, key] = [await newOrder(), randomUUID()];
    await dies(orderId, key, 'call.after:reserve');
    expect((await ship(orderId, { key })).status).toBe(201);
    expect(warehouse.keys).toHaveLength(2);
    await expectReservedOnce(orderId);
  });
});

/** Another process gets the request, and is killed at `point`. */
async function dies(orderId: string, key: string, point: string): Promise<void> {
  const victim = await spawnApi(
    { databaseUrl: shop.db.url, providerUrl: shop.provider.url, ROLE: 'api', FAULTS: 'on' },
    ['--import', './test/torture/register.mjs', 'docs/examples/ship-order/main.ts', warehouse.url],
  );
  const headers = { 'sandbox-fault': `${point}=crash` };
  await expect(ship(orderId, { key, headers }, victim.url)).rejects.toThrow();
  expect(await victim.kill('SIGKILL')).toBeNull();
  await leasesEnd();
}
