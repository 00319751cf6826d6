import { randomUUID } from 'node:crypto';
import { Reconciler } from '../../src/charges/reconciler.js';
import { InboxConsumer } from '../../src/inbox/inbox-consumer.js';
import type { PollCounts } from '../../src/payments/polling.js';
import { checkoutBody, get, orderBody, post, type Answer } from '../support/checkout.js';
import { EventParts } from '../support/event-parts.module.js';
import { openShop, type Shop } from '../support/shop.js';
import { startApi } from '../support/start-api.js';
import { authenticate, intentOf, STRIPE_WEBHOOK_SECRETS, subscribe } from '../support/webhooks.js';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop({ ROLE: 'api', STRIPE_WEBHOOK_SECRETS }, [EventParts]);
  await subscribe(shop.provider, shop.api.url);
});
afterAll(() => shop.close());
afterEach(async () => {
  await shop.provider.clearFaults();
  await shop.db.sql('DELETE FROM reviews');
  await shop.db.sql("UPDATE charges SET next_poll_at = 'infinity'"); // what a test leaves open is not the next one's
});

const NEEDS_ACTION = { paymentMethod: 'pm_card_authenticationRequired' };
const AT_THE_BANK = { paymentMethod: 'pm_usBankAccount_processing' };

const checkout = (changes: object, key: string = randomUUID()) =>
  post(`${shop.api.url}/v1/checkouts`, checkoutBody({ ...changes }), { key });
const readCharge = async ({ body }: Answer) =>
  (await get(`${shop.api.url}/v1/charges/${body.charge.id}`)).body;
const readOrder = async ({ body }: Answer) => (await get(`${shop.api.url}/v1/orders/${body.order.id}`)).body;
const chargeRow = async ({ body }: Answer) =>
  (await shop.db.sql('SELECT * FROM charges WHERE id = $1', [body.charge.id]))[0]!;
const reviews = () => shop.db.sql('SELECT subject_id, reason FROM reviews');

/** The events on their way arrive, and take effect. */
async function eventsArrive(about: Answer, status: string): Promise<void> {
  const consumer = shop.api.app.get(InboxConsumer, { strict: false });
  while ((await readCharge(about)).status !== status) {
    await shop.db.sql('UPDATE inbox_messages SET due_at = now() WHERE applied_at IS NULL');
    await consumer.runOnce();
  }
}

/** One round of the reconciler, once the charge is due. */
async function reconcile({ body }: Answer): Promise<PollCounts> {
  await shop.db.sql("UPDATE charges SET next_poll_at = now() - interval '1 s' WHERE id = $1", [
    body.charge.id,
  ]);
  return shop.api.app.get(Reconciler, { strict: false }).runOnce();
}

async function overdue({ body }: Answer): Promise<void> {
  await shop.db.sql("UPDATE charges SET created_at = now() - interval '25 h' WHERE id = $1", [
    body.charge.id,
  ]);
}

async function customer(about: Answer, outcome: 'succeed' | 'fail'): Promise<void> {
  await authenticate(shop.provider, (await intentOf(shop.provider, about.body.charge.id))['id'], outcome);
}

async function expectPaidOnce({ body: { order, charge } }: Answer): Promise<void> {
  const [counts] = await shop.db.sql(
    `SELECT (SELECT status FROM orders WHERE id = $1) AS "order",
            (SELECT status FROM charges WHERE id = $2) AS charge,
            (SELECT count(*)::int FROM ledger_entries WHERE subject = $1) AS ledger,
            (SELECT count(*)::int FROM outbox_messages WHERE dedupe_key = 'receipt:' || $1) AS receipts`,
    [order.id, charge.id],
  );
  expect(counts).toEqual({ order: 'paid', charge: 'succeeded', ledger: 1, receipts: 1 });
}

/** The order can be paid by another charge, once. */
async function expectPayable({ body: { order } }: Answer): Promise<void> {
  const pay = () => post(`${shop.api.url}/v1/charges`, { orderId: order.id, paymentMethod: 'pm_card_visa' });
  expect((await pay()).status).toBe(201);
  expect((await pay()).body.code).toBe('order_already_paid');
}

describe('A payment that the customer must authenticate', () => {
  it('is answered with where to send them; that is final for its key, and the order is held [TC-4]', async () => {
    const key = randomUUID();
    const answer = await checkout(NEEDS_ACTION, key);
    expect(answer.status).toBe(201);
    expect(answer.body.order).toMatchObject({ status: 'pending' });
    expect(answer.body.charge).toMatchObject({
      status: 'requires_action',
      nextAction: { type: 'redirect_to_url', url: expect.stringContaining('/_authenticate/pi_') },
    });
    const again = await checkout(NEEDS_ACTION, key);
    expect(again.text).toBe(answer.text);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const other = await post(`${shop.api.url}/v1/charges`, {
      orderId: answer.body.order.id,
      paymentMethod: 'pm_card_visa',
    });
    expect([other.status, other.body.code]).toEqual([409, 'order_payment_in_progress']);
  });

  it('leads back to the page that was set when it was begun, also where a retry meets another setting', async () => {
    const [key, body] = [randomUUID(), checkoutBody(NEEDS_ACTION)];
    const underSetting = async (PAYMENT_RETURN_URL: string) => {
      const { db, provider } = shop;
      const settings = { databaseUrl: db.url, providerUrl: provider.url, ROLE: 'api', PAYMENT_RETURN_URL };
      const api = await startApi(settings);
      return post(`${api.url}/v1/checkouts`, body, { key }).finally(() => api.stop());
    };
    await shop.provider.fault('drop_after', { times: 2 });
    await shop.provider.fault('search_down', { times: 1 });
    expect((await underSetting('https://shop.example/before')).body.code).toBe('outcome_unknown');

    const answer = await underSetting('https://shop.example/after'); // other bytes would be another request: a review
    expect(answer.status).toBe(201);
    const intent = await intentOf(shop.provider, answer.body.charge.id);
    expect(intent).toMatchObject({
      next_action: { redirect_to_url: { return_url: 'https://shop.example/before' } },
    });
  });

  it('is finished by the webhook: order paid, ledger row, receipt; and its key still replays the first answer', async () => {
    const key = randomUUID();
    const answer = await checkout(NEEDS_ACTION, key);
    await customer(answer, 'succeed');
    await eventsArrive(answer, 'succeeded');
    await expectPaidOnce(answer);
    expect(await readCharge(answer)).toMatchObject({ status: 'succeeded', nextAction: null, failure: null });
    expect((await checkout(NEEDS_ACTION, key)).text).toBe(answer.text);
  });

  it('that fails is declined, and its order can be paid anew', async () => {
    const answer = await checkout(NEEDS_ACTION);
    await customer(answer, 'fail');
    await eventsArrive(answer, 'declined');
    expect(await readCharge(answer)).toMatchObject({
      nextAction: null,
      failure: { code: 'payment_intent_authentication_failure' },
    });
    await expectPayable(answer);
  });

  it('works for a charge of an order that is there as well', async () => {
    const order = await post(`${shop.api.url}/v1/orders`, orderBody());
    const charge = await post(`${shop.api.url}/v1/charges`, { orderId: order.body.id, ...NEEDS_ACTION });
    expect(charge.body).toMatchObject({ status: 'requires_action' });
    const answer = { ...charge, body: { order: order.body, charge: charge.body } };
    await customer(answer, 'succeed');
    await eventsArrive(answer, 'succeeded');
    await expectPaidOnce(answer);
  });

  it('changes by nothing that is read', async () => {
    await shop.provider.fault('webhook_drop', { times: 2 });
    const answer = await checkout(NEEDS_ACTION);
    await customer(answer, 'succeed');
    const before = await chargeRow(answer);
    expect(await readCharge(answer)).toMatchObject({ status: 'requires_action' });
    expect(await readOrder(answer)).toMatchObject({ status: 'pending' });
    expect(await chargeRow(answer)).toEqual(before);
  });
});

describe('A payment whose webhook is lost', () => {
  const lost = async (changes: object) => {
    await shop.provider.fault('webhook_drop', { times: 9 });
    return checkout(changes);
  };

  it('is finished by asking: order paid, ledger row, receipt', async () => {
    const answer = await lost(NEEDS_ACTION);
    await customer(answer, 'succeed');
    expect(await reconcile(answer)).toMatchObject({ claimed: 1, settled: 1 });
    await expectPaidOnce(answer);
    expect(await reconcile(answer)).toMatchObject({ claimed: 0 });
  });

  it('that was declined frees its order', async () => {
    const answer = await lost(NEEDS_ACTION);
    await customer(answer, 'fail');
    expect(await reconcile(answer)).toMatchObject({ settled: 1 });
    await expectPayable(answer);
  });

  it('is asked about half a minute later, and then less and less often', async () => {
    const answer = await lost(NEEDS_ACTION);
    const seconds = async () =>
      (
        await shop.db.sql<{ seconds: number }>(
          'SELECT round(extract(epoch FROM next_poll_at - now()))::int AS seconds FROM charges WHERE id = $1',
          [answer.body.charge.id],
        )
      )[0]!.seconds;
    expect(await seconds()).toBeGreaterThanOrEqual(28);
    expect(await shop.api.app.get(Reconciler, { strict: false }).runOnce()).toMatchObject({ claimed: 0 });
    for (const pause of [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]) {
      expect(await reconcile(answer)).toMatchObject({ claimed: 1, waiting: 1 });
      expect(Math.abs((await seconds()) - pause)).toBeLessThanOrEqual(2);
    }
  });

  it('is asked about again where the provider cannot be reached, or says nothing that can be read', async () => {
    const answer = await lost(NEEDS_ACTION);
    await customer(answer, 'succeed');
    await shop.provider.fault('down', { times: 1 });
    expect(await reconcile(answer)).toMatchObject({ waiting: 1 });
    await shop.provider.clearFaults();
    expect(await reconcile(answer)).toMatchObject({ settled: 1 });
    await expectPaidOnce(answer);
  });

  it('and one whose webhook comes at that moment, are paid once', async () => {
    const answer = await checkout(NEEDS_ACTION);
    await customer(answer, 'succeed');
    await Promise.all([reconcile(answer), eventsArrive(answer, 'succeeded'), reconcile(answer)]);
    await expectPaidOnce(answer);
  });

  it('that the provider says otherwise of opens a review, and nothing is applied [W-13]', async () => {
    const answer = await lost(NEEDS_ACTION);
    await customer(answer, 'succeed');
    const other = await checkout({ paymentMethod: 'pm_card_visa' });
    const { id } = await intentOf(shop.provider, other.body.charge.id);
    for (const providerId of [id, 'pi_that_never_was']) {
      await shop.db.sql('DELETE FROM reviews');
      await shop.db.sql('UPDATE charges SET provider_id = $2 WHERE id = $1', [
        answer.body.charge.id,
        providerId,
      ]);
      expect(await reconcile(answer)).toMatchObject({ questioned: 1 });
      expect(await reviews()).toEqual([
        { subject_id: answer.body.charge.id, reason: 'provider_contradicts' },
      ]);
      expect(await readOrder(answer)).toMatchObject({ status: 'pending' });
    }
  });
});

describe('A payment that nobody completes', () => {
  it('is canceled at the provider first, and then its order can be paid anew', async () => {
    const answer = await checkout(NEEDS_ACTION);
    await overdue(answer);
    expect(await reconcile(answer)).toMatchObject({ settled: 1 });
    expect(await intentOf(shop.provider, answer.body.charge.id)).toMatchObject({ status: 'canceled' });
    expect(await readCharge(answer)).toMatchObject({ status: 'canceled', nextAction: null });
    await expectPayable(answer);
  });

  it('is not canceled before its time', async () => {
    const answer = await checkout(NEEDS_ACTION);
    await shop.db.sql("UPDATE charges SET created_at = now() - interval '23 h' WHERE id = $1", [
      answer.body.charge.id,
    ]);
    expect(await reconcile(answer)).toMatchObject({ waiting: 1 });
    expect(await intentOf(shop.provider, answer.body.charge.id)).toMatchObject({ status: 'requires_action' });
  });

  it('but was completed in the last moment is paid: what the provider says is adopted', async () => {
    await shop.provider.fault('webhook_drop', { times: 9 });
    const answer = await checkout(NEEDS_ACTION);
    await customer(answer, 'succeed');
    await overdue(answer);
    expect(await reconcile(answer)).toMatchObject({ settled: 1 });
    await expectPaidOnce(answer);
  });

  it('stays as it is where the provider cannot be told', async () => {
    const answer = await checkout(NEEDS_ACTION);
    await overdue(answer);
    await shop.provider.fault('drop_after', { times: 1 });
    expect(await reconcile(answer)).toMatchObject({ waiting: 1 });
    expect(await readCharge(answer)).toMatchObject({ status: 'requires_action' });
    expect(await reconcile(answer)).toMatchObject({ settled: 1 }); // it was canceled after all
    expect(await readCharge(answer)).toMatchObject({ status: 'canceled' });
  });

  it('because a bank takes its time is waited for', async () => {
    const answer = await checkout(AT_THE_BANK);
    expect(answer.body.charge).toMatchObject({ status: 'processing' });
    await overdue(answer);
    expect(await reconcile(answer)).toMatchObject({ waiting: 1 });
    const { id } = await intentOf(shop.provider, answer.body.charge.id);
    await shop.provider.fault('webhook_drop', { times: 1 });
    await fetch(`${shop.provider.url}/_settle/${String(id)}`, { method: 'POST' });
    expect(await reconcile(answer)).toMatchObject({ settled: 1 });
    await expectPaidOnce(answer);
  });

  it('is taken by one reconciler, however many there are', async () => {
    const answer = await checkout(NEEDS_ACTION);
    await shop.db.sql("UPDATE charges SET next_poll_at = now() - interval '1 s' WHERE id = $1", [
      answer.body.charge.id,
    ]);
    const reconciler = shop.api.app.get(Reconciler, { strict: false });
    const rounds = await Promise.all([reconciler.runOnce(), reconciler.runOnce(), reconciler.runOnce()]);
    expect(rounds.reduce((sum, { claimed }) => sum + claimed, 0)).toBe(1);
  });
});

describe('The whole service in one process', () => {
  it('pays an order soon after the customer has authenticated, whatever happens to the events on their way', async () => {
    const whole = await startApi({
      databaseUrl: shop.db.url,
      providerUrl: shop.provider.url,
      STRIPE_WEBHOOK_SECRETS,
    });
    await subscribe(shop.provider, whole.url);
    for (const [kind, delayMs] of [
      ['webhook_duplicate', 0],
      ['webhook_delay', 300],
      ['webhook_reorder', 300],
    ] as const) {
      await shop.provider.fault(kind, { times: 1, delayMs });
      const answer = await post(`${whole.url}/v1/checkouts`, checkoutBody({ ...NEEDS_ACTION }));
      await customer(answer, 'succeed');
      while ((await readOrder(answer)).status !== 'paid');
      await expectPaidOnce(answer);
    }
    expect(await reviews()).toEqual([]);
    await whole.stop();
  });
});
