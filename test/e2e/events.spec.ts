import { Flight } from '../../src/database/flight.js';
import { Database } from '../../src/database/transaction.js';
import { Outbox } from '../../src/outbox/outbox.js';
import { Relay } from '../../src/outbox/relay.js';
import type { SettledRefundOutcome } from '../../src/refunds/refund.js';
import { settleRefund } from '../../src/refunds/refund-settlement.js';
import { checkoutBody, orderBody, post } from '../support/checkout.js';
import { openEventShop, type EventShop } from '../support/event-shop.js';
import { startMailbox } from '../support/mailbox.js';
import { pay, refund } from '../support/refunds.js';
import { OPERATORS, operate } from '../support/operator.js';
import { openShop, type Shop } from '../support/shop.js';
import { ACME } from '../support/start-api.js';
import { authenticate, eventAbout, intentOf } from '../support/webhooks.js';

const { jest } = import.meta;

/** The discard port: nothing listens there, and nothing has to for an event to be staged. */
const AMQP_URL = 'amqp://127.0.0.1:9';

type Row = Record<string, unknown>;

/** In the order in which they will go out. */
const EVENTS = `SELECT dedupe_key, ordering_key, payload ->> 'type' AS type, payload -> 'data' AS data
  FROM outbox_messages WHERE topic = 'event' AND ordering_key = $1 ORDER BY sequence`;

describe('Where a broker is configured, an event is staged with what it tells of', () => {
  let shop: EventShop;
  beforeAll(async () => {
    shop = await openEventShop({ AMQP_URL });
  });
  afterAll(() => shop.close());
  beforeEach(() => shop.clean());

  const eventsOf = (orderId: string) => shop.db.sql<Row>(EVENTS, [`events:${orderId}`]);
  const typesOf = async (orderId: string) => (await eventsOf(orderId)).map(({ type }) => type);
  const charge = (orderId: string, paymentMethod: string) =>
    post(`${shop.api.url}/v1/charges`, { orderId, paymentMethod });
  const settle = (refundId: string, outcome: SettledRefundOutcome) =>
    shop.api.app
      .get(Database)
      .transaction((tx) => settleRefund(tx, shop.api.app.get(Outbox), ACME.tenant, refundId, outcome));

  it('order.paid, once, with ids and money and nothing of a person', async () => {
    const { body } = await shop.checkout();
    expect(await eventsOf(body.order.id)).toEqual([
      {
        dedupe_key: `order.paid:${body.order.id}`,
        ordering_key: `events:${body.order.id}`,
        type: 'order.paid',
        data: { orderId: body.order.id, chargeId: body.charge.id, amount: 1700, currency: 'eur' },
      },
    ]);
  });

  it('not where the key is replayed', async () => {
    const key = crypto.randomUUID();
    const { body } = await shop.checkout(key);
    await shop.checkout(key);
    expect(await typesOf(body.order.id)).toEqual(['order.paid']);
  });

  it('charge.failed for a card that is declined, by its codes; then order.paid, by another charge', async () => {
    const orderId = (await post(`${shop.api.url}/v1/orders`, orderBody())).body.id as string;
    expect((await charge(orderId, 'pm_card_visa_chargeDeclinedInsufficientFunds')).status).toBe(402);
    expect((await charge(orderId, 'pm_card_visa')).status).toBe(201);
    const [failed, paid] = await eventsOf(orderId);
    expect(failed).toMatchObject({
      dedupe_key: `charge.failed:${(failed!['data'] as Row)['chargeId'] as string}`,
      type: 'charge.failed',
      data: {
        orderId,
        amount: 1700,
        currency: 'eur',
        status: 'declined',
        code: 'card_declined',
        declineCode: 'insufficient_funds',
      },
    });
    expect(Object.keys(failed!['data'] as Row)).not.toContain('message');
    expect(paid!['type']).toBe('order.paid');
  });

  it('what a webhook told, however often it did', async () => {
    const { body } = await shop.checkout(undefined, { paymentMethod: 'pm_card_authenticationRequired' });
    expect(await typesOf(body.order.id)).toEqual([]);
    const intent = await intentOf(shop.provider, body.charge.id as string);
    await authenticate(shop.provider, intent['id'], 'succeed');
    const event = eventAbout(await intentOf(shop.provider, body.charge.id as string));
    await shop.told(event);
    await shop.consume();
    await shop.told({ ...event, id: 'evt_another' });
    await shop.consume();
    expect(await typesOf(body.order.id)).toEqual(['order.paid']);
  });

  it('charge.failed for a customer who did not authenticate', async () => {
    const { body } = await shop.checkout(undefined, { paymentMethod: 'pm_card_authenticationRequired' });
    const intent = await intentOf(shop.provider, body.charge.id as string);
    await authenticate(shop.provider, intent['id'], 'fail');
    await shop.told(eventAbout(await intentOf(shop.provider, body.charge.id as string)));
    await shop.consume();
    expect(await typesOf(body.order.id)).toEqual(['charge.failed']);
  });

  it('order.refunded for each refund, and order.refund_reversed for one that the bank sends back', async () => {
    const { order, charge: paid } = await pay(shop.api.url);
    const first = (await refund(shop.api.url, paid.id as string, { amount: 500 })).body.id as string;
    const second = (await refund(shop.api.url, paid.id as string)).body.id as string;
    const [{ provider_id: providerId } = {}] = await shop.db.sql<{ provider_id: string }>(
      'SELECT provider_id FROM refunds WHERE id = $1',
      [first],
    );
    for (let times = 0; times < 2; times++)
      await settle(first, { status: 'failed', providerId: providerId! });
    const data = { orderId: order.id, chargeId: paid.id, currency: 'eur' };
    expect(
      (await eventsOf(order.id as string)).map(({ dedupe_key, data: told }) => [dedupe_key, told]),
    ).toEqual([
      [`order.paid:${order.id}`, { ...data, amount: 1700 }],
      [`order.refunded:${first}`, { ...data, refundId: first, amount: 500 }],
      [`order.refunded:${second}`, { ...data, refundId: second, amount: 1200 }],
      [`order.refund_reversed:${first}`, { ...data, refundId: first, amount: 500 }],
    ]);
  });

  it('charge.failed and no order.refunded, for money that came for a charge that had ended', async () => {
    const { body } = await shop.checkout(undefined, { paymentMethod: 'pm_card_authenticationRequired' });
    await shop.db.sql("UPDATE orders SET status = 'canceled' WHERE id = $1", [body.order.id]);
    const intent = await intentOf(shop.provider, body.charge.id as string);
    await authenticate(shop.provider, intent['id'], 'succeed');
    await shop.told(eventAbout(await intentOf(shop.provider, body.charge.id as string)));
    await shop.consume();
    expect(await shop.reviews()).toMatchObject([{ reason: 'charged_after_all' }]);
    expect(await typesOf(body.order.id)).toEqual(['charge.failed']);
  });

  it('with it, or not at all', async () => {
    const { body } = await shop.checkout(undefined, { paymentMethod: 'pm_card_authenticationRequired' });
    const intent = await intentOf(shop.provider, body.charge.id as string);
    await authenticate(shop.provider, intent['id'], 'succeed');
    await shop.told(eventAbout(await intentOf(shop.provider, body.charge.id as string)));
    await shop.db.sql(
      "ALTER TABLE outbox_messages ADD CONSTRAINT no_room CHECK (topic <> 'event') NOT VALID",
    );
    expect(await shop.consume()).toMatchObject({ failed: 1 });
    expect((await shop.chargeRow(body.charge.id as string)).status).toBe('requires_action');
    await shop.db.sql('ALTER TABLE outbox_messages DROP CONSTRAINT no_room');
    await shop.consume();
    expect((await shop.chargeRow(body.charge.id as string)).status).toBe('succeeded');
    expect(await typesOf(body.order.id)).toEqual(['order.paid']);
  });
});

describe('Where the broker is away', () => {
  it('receipts go out all the same, and events wait with their reason', async () => {
    const mailbox = await startMailbox();
    const shop = await openShop({ AMQP_URL, ROLE: 'all', smtpUrl: mailbox.smtpUrl });
    const { order } = await pay(shop.api.url);
    expect(await mailbox.received(1)).toMatchObject([{ messageId: expect.stringContaining(order.id) }]);
    const event = async () =>
      (
        await shop.db.sql<Row>(
          "SELECT sent_at, dead_at, last_error FROM outbox_messages WHERE topic = 'event'",
        )
      )[0]!;
    while ((await event())['last_error'] === null) await shop.api.app.get(Relay, { strict: false }).runOnce();
    expect(await event()).toEqual({
      sent_at: null,
      dead_at: null,
      last_error: expect.stringContaining('ECONNREFUSED'),
    });
    await shop.close();
    await mailbox.stop();
  });

  it('an event that is given up is a dead letter for the operator, until a person requeues it', async () => {
    const shop = await openShop({ AMQP_URL, ROLE: 'all', OPERATOR_TOKENS: OPERATORS.ada });
    await shop.db.sql('ALTER TABLE outbox_messages ALTER attempts SET DEFAULT 49'); // one try is left
    const { order } = await pay(shop.api.url);
    const given = async () =>
      (await operate(shop.api.url, 'get', 'dead-letters')).body.data.filter(
        ({ topic }: Row) => topic === 'event',
      ) as Row[];
    while ((await given()).length === 0) await shop.api.app.get(Relay, { strict: false }).runOnce();
    const [letter] = await given();
    expect(letter).toMatchObject({
      dedupeKey: `order.paid:${order.id}`,
      attempts: 50,
      lastError: expect.stringContaining('ECONNREFUSED'),
    });
    const requeued = await operate(shop.api.url, 'post', `dead-letters/${letter!['id'] as string}/requeue`);
    expect(requeued.body).toMatchObject({ deadAt: null, dueAt: expect.any(String) });
    await shop.close();
  });
});

describe('Without a broker', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ ROLE: 'api' });
  });
  afterAll(() => shop.close());

  it('no event is written, as nobody would read it', async () => {
    const { charge } = await pay(shop.api.url);
    await refund(shop.api.url, charge.id as string);
    const declined = checkoutBody({ paymentMethod: 'pm_card_visa_chargeDeclined' });
    expect((await post(`${shop.api.url}/v1/checkouts`, declined)).status).toBe(402);
    const topics = await shop.db.sql('SELECT DISTINCT topic FROM outbox_messages');
    expect(topics).toEqual([{ topic: 'receipt' }]);
  });

  it('nothing is asked of the database for its sake: an event is one statement more, and the only one', async () => {
    const other = await openShop({ ROLE: 'api', AMQP_URL });
    const [quiet, telling] = [await statementsOf(shop), await statementsOf(other)];
    expect(quiet.filter((name) => name === 'outbox_add')).toHaveLength(1); // the receipt
    const event = telling.splice(telling.lastIndexOf('outbox_add'), 1);
    expect([event, telling]).toEqual([['outbox_add'], quiet]);
    await other.close();
  });
});

/** The statements of a checkout, in order, by their names, or as they are. */
async function statementsOf({ api }: Shop): Promise<string[]> {
  await pay(api.url); // finds the tenant
  const added = jest.spyOn(Flight.prototype, 'add');
  await pay(api.url);
  const statements = added.mock.calls.map(([{ name, text }]) => name || text);
  added.mockRestore();
  return statements;
}
