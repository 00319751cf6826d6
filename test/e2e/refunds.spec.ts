import { randomUUID } from 'node:crypto';
import { checkoutBody, get, orderBody, post } from '../support/checkout.js';
import { expectLedgersAgree, pay, refund, refundsAtProvider } from '../support/refunds.js';
import { openShop, type Shop } from '../support/shop.js';
import { GLOBEX } from '../support/start-api.js';

let shop: Shop;
let url: string;
beforeAll(async () => {
  shop = await openShop();
  url = shop.api.url;
});
afterEach(async () => {
  await shop.provider.clearFaults();
  await expectLedgersAgree(shop.db, shop.provider);
});
afterAll(() => shop.close());

const keyRows = (key: string) =>
  shop.db.sql<{ status: string }>('SELECT status FROM idempotency_keys WHERE key = $1', [key]);

/** What the order and the charge say went back, which is never two things. */
async function amountRefunded({ order, charge }: { order: any; charge: any }): Promise<number> {
  const seen = await Promise.all([
    get(`${url}/v1/orders/${order.id}`),
    get(`${url}/v1/charges/${charge.id}`),
  ]);
  const [ofOrder, ofCharge] = seen.map(({ body }) => body.amountRefunded as number);
  expect(ofOrder).toBe(ofCharge);
  return ofCharge!;
}

describe('The key of a refund', () => {
  const read = async (key: string, apiKey?: string) =>
    (await get(`${url}/v1/idempotency-keys?key=${key}`, apiKey === undefined ? {} : { apiKey })).body;

  it('shows the refund as it is now, and no charge; the key of a checkout shows its charge alone', async () => {
    const [bought, given] = [randomUUID(), randomUUID()];
    const { body: paid } = await post(`${url}/v1/checkouts`, checkoutBody(), { key: bought });
    const { body: made } = await refund(url, paid.charge.id, { amount: 500 }, { key: given });
    expect(await read(given)).toMatchObject({
      operation: 'refund_charge',
      status: 'finished',
      charge: null,
      refund: made,
    });
    expect(await read(bought)).toMatchObject({
      charge: { id: paid.charge.id, amountRefunded: 500 },
      refund: null,
    });
    expect((await read(given, GLOBEX.key)).code).toBe('idempotency_key_not_found');
  });

  it('shows what is intended while nobody knows what became of it', async () => {
    const { charge } = await pay(url);
    const key = randomUUID();
    await shop.provider.fault('down', { times: 2 });
    expect((await refund(url, charge.id, {}, { key })).status).toBe(503);
    expect(await read(key)).toMatchObject({
      status: 'in_progress',
      refund: { chargeId: charge.id, status: 'pending', amount: 1700 },
    });
    await shop.provider.clearFaults();
    const { body: made } = await refund(url, charge.id, {}, { key });
    expect((await read(key)).refund).toEqual(made);
  });
});

describe('A refund', () => {
  it('gives a part back, and without an amount all that is left [MON-11]', async () => {
    const paid = await pay(url);
    const part = await refund(url, paid.charge.id, { amount: 500, reason: 'requested_by_customer' });
    expect(part.status).toBe(201);
    expect(part.body).toEqual({
      id: expect.stringMatching(/^re_[0-9a-z]{26}$/) as string,
      chargeId: paid.charge.id,
      status: 'succeeded',
      amount: 500,
      currency: 'eur',
      reason: 'requested_by_customer',
      createdAt: expect.any(String) as string,
    });
    expect(part.headers.get('location')).toBe(`/v1/refunds/${part.body.id}`);
    expect(await amountRefunded(paid)).toBe(500);

    const rest = await refund(url, paid.charge.id);
    expect(rest.body).toMatchObject({ status: 'succeeded', amount: 1200, reason: null });
    expect(await amountRefunded(paid)).toBe(1700);
    const made = await refundsAtProvider(shop.db, shop.provider, paid.charge.id);
    expect(made.map(({ amount, calls }) => [amount, calls])).toEqual([
      [500, 1],
      [1200, 1],
    ]);
  });

  it('can be read by its tenant alone', async () => {
    const { charge } = await pay(url);
    const { body } = await refund(url, charge.id);
    expect((await get(`${url}/v1/refunds/${body.id}`)).body).toEqual(body);
    expect((await get(`${url}/v1/refunds/${body.id}`, { apiKey: GLOBEX.key })).status).toBe(404);
    expect((await get(`${url}/v1/refunds/re_${'0'.repeat(26)}`)).body.code).toBe('refund_not_found');
  });

  it('changes the ETag of its order', async () => {
    const { order, charge } = await pay(url);
    const etag = async () => (await get(`${url}/v1/orders/${order.id}`)).headers.get('etag');
    const before = await etag();
    await refund(url, charge.id, { amount: 1 });
    expect(await etag()).not.toBe(before);
  });

  it('is replayed byte for byte, and made once', async () => {
    const { charge } = await pay(url);
    const key = randomUUID();
    const first = await refund(url, charge.id, { amount: 300 }, { key });
    const again = await refund(url, charge.id, { amount: 300 }, { key });
    expect(again.text).toBe(first.text);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await refundsAtProvider(shop.db, shop.provider, charge.id)).toHaveLength(1);
    const other = await refund(url, charge.id, { amount: 301 }, { key });
    expect([other.status, other.body.differs]).toEqual([422, ['amount']]);
  });

  it('leaves the reply of its payment what it was, and no retry of that pays again [R-6]', async () => {
    const key = randomUUID();
    const payment = await post(`${url}/v1/checkouts`, checkoutBody(), { key });
    expect((await refund(url, payment.body.charge.id)).status).toBe(201);
    const replay = await post(`${url}/v1/checkouts`, checkoutBody(), { key });
    expect([replay.status, replay.text]).toEqual([201, payment.text]);
    expect(replay.body.charge).toMatchObject({ status: 'succeeded', amountRefunded: 0 });
    expect(await shop.chargesOf(payment.body.order.id)).toHaveLength(1);
    expect(await amountRefunded(payment.body)).toBe(1700);
  });

  it('is sent under a key that can never be that of a charge', async () => {
    const { charge } = await pay(url);
    await refund(url, charge.id);
    const [made] = await refundsAtProvider(shop.db, shop.provider, charge.id);
    expect(made!.idempotencyKey).toMatch(/^test:idem_[0-9a-z]{26}:refund$/);
  });
});

describe('A refund that cannot be', () => {
  const providerIdOf = async (orderId: string) => (await shop.chargesOf(orderId))[0]!.id;
  const nameAtProvider = (chargeId: string, name: string) =>
    shop.db.sql('UPDATE charges SET provider_id = $2 WHERE id = $1', [chargeId, name]);

  it.each([
    ['of more than is left', { amount: 1201 }, 'refund_amount_too_large', { amountLeft: 1200 }],
    ['of more than there ever was', { amount: 99_999_999 }, 'refund_amount_too_large', { amountLeft: 1200 }],
  ])('%s is refused, and the refusal stored under its key [MON-8]', async (_name, body, code, members) => {
    const paid = await pay(url);
    await refund(url, paid.charge.id, { amount: 500 });
    const key = randomUUID();
    const refused = await refund(url, paid.charge.id, body, { key });
    expect([refused.status, refused.body.code]).toEqual([409, code]);
    expect(refused.body).toMatchObject({ ...members, chargeId: paid.charge.id });
    expect(refused.headers.get('should-retry')).toBe('false');
    expect(refused.body.detail).toContain('12.00 EUR');
    const again = await refund(url, paid.charge.id, body, { key });
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([refused.text, 'true']);
    expect(await amountRefunded(paid)).toBe(500);
  });

  it('of a charge that is refunded in full is refused for good [MON-8]', async () => {
    const paid = await pay(url);
    await refund(url, paid.charge.id);
    for (const body of [{}, { amount: 1 }]) {
      const key = randomUUID();
      const refused = await refund(url, paid.charge.id, body, { key });
      expect([refused.status, refused.body.code]).toEqual([409, 'charge_already_refunded']);
      expect((await refund(url, paid.charge.id, body, { key })).text).toBe(refused.text);
    }
    expect(await amountRefunded(paid)).toBe(1700);
  });

  it('of a charge that took no money is refused for good', async () => {
    const declined = await post(
      `${url}/v1/checkouts`,
      checkoutBody({ paymentMethod: 'pm_card_chargeDeclined' }),
    );
    const key = randomUUID();
    const refused = await refund(url, declined.body.error.charge as string, {}, { key });
    expect([refused.status, refused.body.code]).toEqual([409, 'charge_not_refundable']);
    expect(await keyRows(key)).toEqual([{ status: 'finished' }]);
  });

  it('of a charge that may yet succeed is refused for now', async () => {
    const { charge } = await pay(url, { paymentMethod: 'pm_card_authenticationRequired' });
    const key = randomUUID();
    const refused = await refund(url, charge.id, {}, { key });
    expect([refused.status, refused.body.code]).toEqual([409, 'charge_in_progress']);
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(await keyRows(key)).toEqual([]);
  });

  it('of an amount that the currency does not have leaves no trace, and the key works for another', async () => {
    const order = { currency: 'kwd', items: [{ sku: 'tea', quantity: 1, unitAmount: 5000 }] };
    const paid = await pay(url, order);
    const key = randomUUID();
    const refused = await refund(url, paid.charge.id, { amount: 1005 }, { key });
    expect([refused.status, refused.body.error.param]).toEqual([400, 'amount']);
    expect(await keyRows(key)).toEqual([]);
    expect((await refund(url, paid.charge.id, { amount: 1000 }, { key })).status).toBe(201);
    expect(await amountRefunded(paid)).toBe(1000);
  });

  it.each([
    [{ amount: 0 }],
    [{ amount: -1 }],
    [{ amount: 1.5 }],
    [{ amount: '500' }],
    [{ amount: 1e8 }],
    [{ amount: null }],
  ])('is not valid, and nothing is looked up: %j', async (body) => {
    const refused = await refund(url, `ch_${'0'.repeat(26)}`, body);
    expect([refused.status, refused.body.error.param]).toEqual([400, 'amount']);
  });

  it.each([[{ reason: 'because' }], [{ currency: 'eur' }]])(
    'has members that it may not: %j',
    async (body) => {
      expect((await refund(url, `ch_${'0'.repeat(26)}`, body)).status).toBe(400);
    },
  );

  it("of another tenant's charge, or of none, is 404 and leaves no trace", async () => {
    const paid = await pay(url);
    const key = randomUUID();
    for (const [id, apiKey] of [
      [paid.charge.id, GLOBEX.key],
      [`ch_${'0'.repeat(26)}`, undefined],
      ['%00', undefined],
      ['ord_1', undefined],
    ] as const) {
      const refused = await refund(url, id as string, {}, { key, ...(apiKey && { apiKey }) });
      expect([refused.status, refused.body.code]).toEqual([404, 'charge_not_found']);
    }
    expect(await keyRows(key)).toEqual([]);
    expect(await amountRefunded(paid)).toBe(0);
    expect((await get(`${url}/v1/refunds/%00`)).status).toBe(404);
  });

  it('that the provider rejects failed: a stored 402, and the amount comes back [ST-6]', async () => {
    const paid = await pay(url);
    const providerId = await providerIdOf(paid.order.id);
    await nameAtProvider(paid.charge.id, 'pi_nobodys');
    const key = randomUUID();
    const refused = await refund(url, paid.charge.id, {}, { key });
    expect([refused.status, refused.body.code]).toEqual([402, 'refund_rejected']);
    expect(refused.body.error).toMatchObject({ provider_code: 'resource_missing' });
    expect((await refund(url, paid.charge.id, {}, { key })).text).toBe(refused.text);
    expect((await get(`${url}/v1/refunds/${refused.body.refundId}`)).body.status).toBe('failed');
    expect(await amountRefunded(paid)).toBe(0);
    await nameAtProvider(paid.charge.id, providerId);
    expect((await refund(url, paid.charge.id)).status).toBe(201);
  });
});

describe('A refund whose outcome is not known', () => {
  const pendingRefund = async (chargeId: string) =>
    (await shop.db.sql<{ status: string }>('SELECT status FROM refunds WHERE charge_id = $1', [chargeId]))[0];

  it('stays pending with its amount reserved, and the key resumes: one refund', async () => {
    const paid = await pay(url);
    const key = randomUUID();
    await shop.provider.fault('drop_after', { times: 2 });
    await shop.provider.fault('search_down', { times: 1 });
    const answer = await refund(url, paid.charge.id, { amount: 1700 }, { key });
    expect([answer.status, answer.body.code]).toEqual([503, 'outcome_unknown']);
    expect(await pendingRefund(paid.charge.id)).toEqual({ status: 'pending' });
    expect((await refund(url, paid.charge.id)).body.code).toBe('charge_already_refunded');

    const resumed = await refund(url, paid.charge.id, { amount: 1700 }, { key });
    expect([resumed.status, resumed.body.status]).toEqual([201, 'succeeded']);
    expect(await refundsAtProvider(shop.db, shop.provider, paid.charge.id)).toHaveLength(1);
    expect(await amountRefunded(paid)).toBe(1700);
  });

  it('is looked up and adopted where the provider acted and only repeats its 500', async () => {
    const paid = await pay(url);
    await shop.provider.fault('error_after', { times: 1 });
    const answer = await refund(url, paid.charge.id, { amount: 200 });
    expect([answer.status, answer.body.status]).toEqual([201, 'succeeded']);
    expect(await refundsAtProvider(shop.db, shop.provider, paid.charge.id)).toHaveLength(1);
  });

  it('resumes where the provider was not reached', async () => {
    const paid = await pay(url);
    const key = randomUUID();
    await shop.provider.fault('rate_limit', { times: 1 });
    const answer = await refund(url, paid.charge.id, {}, { key });
    expect([answer.status, answer.body.code]).toEqual([503, 'provider_unavailable']);
    expect((await refund(url, paid.charge.id, {}, { key })).status).toBe(201);
  });

  it('goes to a person once nobody can tell any more, and is not made again', async () => {
    const paid = await pay(url);
    const key = randomUUID();
    await shop.provider.fault('drop_before', { times: 2 });
    await shop.provider.fault('search_down', { times: 1 });
    expect((await refund(url, paid.charge.id, {}, { key })).status).toBe(503);
    await shop.db.sql("UPDATE idempotency_keys SET first_sent_at = now() - interval '25 h' WHERE key = $1", [
      key,
    ]);
    const held = await refund(url, paid.charge.id, {}, { key });
    expect([held.status, held.body.code]).toEqual([409, 'idempotency_key_under_review']);
    expect(await amountRefunded(paid)).toBe(1700); // still reserved
    expect(await refundsAtProvider(shop.db, shop.provider, paid.charge.id)).toEqual([]);
  });
});

describe('An order that is refunded', () => {
  it('cannot be paid again', async () => {
    const order = await post(`${url}/v1/orders`, orderBody());
    const charge = { orderId: order.body.id as string, paymentMethod: 'pm_card_visa' };
    const paid = await post(`${url}/v1/charges`, charge);
    await refund(url, paid.body.id as string);
    expect((await post(`${url}/v1/charges`, charge)).body.code).toBe('order_already_paid');
  });
});
