import { randomUUID } from 'node:crypto';
import { checkoutBody, get, orderBody, post } from '../support/checkout.js';
import { openShop, type Shop } from '../support/shop.js';
import { GLOBEX } from '../support/start-api.js';

describe('A checkout', () => {
  let shop: Shop;
  const checkouts = () => `${shop.api.url}/v1/checkouts`;

  beforeAll(async () => void (shop = await openShop()));
  afterAll(() => shop.close());

  it('makes the order, charges it, and answers with both', async () => {
    const answer = await post(checkouts(), checkoutBody());
    expect(answer.status).toBe(201);
    expect(answer.body.order).toMatchObject({ status: 'paid', amount: 1700, currency: 'eur' });
    expect(answer.body.charge).toMatchObject({ status: 'succeeded', orderId: answer.body.order.id });
    expect(answer.headers.get('location')).toBe(`/v1/orders/${answer.body.order.id}`);
    const charges = await shop.chargesOf(answer.body.order.id);
    expect(charges).toHaveLength(1);
    expect(charges[0]).toMatchObject({ amount: 1700, currency: 'eur', status: 'succeeded', calls: 1 });
  });

  it('is replayed byte for byte, and charged once [R-1, R-3, R-4, R-5, H-13]', async () => {
    const key = randomUUID();
    const first = await post(checkouts(), checkoutBody(), { key });
    const again = await post(checkouts(), checkoutBody(), { key });
    expect(again.status).toBe(201);
    expect(again.text).toBe(first.text);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(first.headers.get('original-request')).toBe(first.headers.get('request-id'));
    expect(again.headers.get('original-request')).toBe(first.headers.get('request-id'));
    expect(again.headers.get('request-id')).not.toBe(first.headers.get('request-id'));
    expect(again.headers.get('idempotency-key')).toBe(key);
    const charges = await shop.chargesOf(first.body.order.id);
    expect(charges.map(({ calls }) => calls)).toEqual([1]);
    const [counts] = await shop.db.sql(
      `SELECT (SELECT count(*)::int FROM ledger_entries WHERE subject = $1) AS ledger,
              (SELECT count(*)::int FROM outbox_messages WHERE ordering_key = $1) AS outbox`,
      [first.body.order.id],
    );
    expect(counts).toEqual({ ledger: 1, outbox: 1 });
  });

  it('with another body under the same key is refused, and names what differs', async () => {
    const key = randomUUID();
    const first = await post(checkouts(), checkoutBody(), { key });
    const other = await post(checkouts(), checkoutBody({ currency: 'usd' }), { key });
    expect(other.status).toBe(422);
    expect(other.body).toMatchObject({ code: 'idempotency_key_mismatch', differs: ['currency'] });
    expect((await post(checkouts(), checkoutBody(), { key })).text).toBe(first.text);
  });

  it('of another tenant under the same key is another checkout [SC-1]', async () => {
    const key = randomUUID();
    const acme = await post(checkouts(), checkoutBody(), { key });
    const globex = await post(checkouts(), checkoutBody(), { key, apiKey: GLOBEX.key });
    expect(globex.status).toBe(201);
    expect(globex.body.order.id).not.toBe(acme.body.order.id);
    expect(
      (await get(`${shop.api.url}/v1/orders/${acme.body.order.id}`, { apiKey: GLOBEX.key })).status,
    ).toBe(404);
  });

  it('that is declined is a stored 402, and the provider is asked once [E-2, R-7]', async () => {
    const key = randomUUID();
    const body = checkoutBody({ paymentMethod: 'pm_card_visa_chargeDeclinedInsufficientFunds' });
    const first = await post(checkouts(), body, { key });
    const again = await post(checkouts(), body, { key });
    expect(first.status).toBe(402);
    expect(first.body.error).toMatchObject({
      type: 'card_error',
      code: 'card_declined',
      decline_code: 'insufficient_funds',
    });
    expect(again.text).toBe(first.text);
    expect((await shop.chargesOf(first.body.orderId)).map(({ calls }) => calls)).toEqual([1]);
  });

  it('whose body is refused leaves no row, and the corrected body works with the same key [E-3]', async () => {
    const key = randomUUID();
    const refused = await post(checkouts(), checkoutBody({ currency: 'xxx' }), { key });
    expect(refused.status).toBe(400);
    expect(await shop.db.sql('SELECT 1 FROM idempotency_keys WHERE key = $1', [key])).toEqual([]);
    expect((await post(checkouts(), checkoutBody(), { key })).status).toBe(201);
  });

  it('is paid by a charge of its own when it began as an order', async () => {
    const order = await post(`${shop.api.url}/v1/orders`, orderBody());
    expect(order.status).toBe(201);
    const charge = await post(`${shop.api.url}/v1/charges`, {
      orderId: order.body.id,
      paymentMethod: 'pm_card_visa',
    });
    expect(charge.status).toBe(201);
    expect(charge.body.status).toBe('succeeded');
    expect((await get(`${shop.api.url}/v1/orders/${order.body.id}`)).body.status).toBe('paid');
    expect((await get(`${shop.api.url}/v1/charges/${charge.body.id}`)).body).toEqual(charge.body);
  });
});
