import { randomUUID } from 'node:crypto';
import { SANDBOX_SECRET } from '../../src/config/published.js';
import { fingerprint } from '../../src/idempotency/fingerprint.js';
import { checkoutBody, get, orderBody, post } from '../support/checkout.js';
import { openShop, type Shop } from '../support/shop.js';
import { GLOBEX } from '../support/start-api.js';

let shop: Shop;
beforeAll(async () => void (shop = await openShop()));
afterAll(() => shop.close());

const orders = () => `${shop.api.url}/v1/orders`;

describe('A replay', () => {
  it('has the stored headers and none that belong to one exchange [R-2]', async () => {
    const key = randomUUID();
    await post(orders(), orderBody(), { key });
    const [row] = await shop.db.sql<{ reply_headers: Record<string, string> }>(
      'SELECT reply_headers FROM idempotency_keys WHERE key = $1',
      [key],
    );
    expect(Object.keys(row!.reply_headers).sort()).toEqual(['Content-Type', 'ETag', 'Location']);
    const replay = await post(orders(), orderBody(), { key });
    expect(replay.headers.get('etag')).toBe('"1"');
    expect(replay.headers.get('location')).toBe(`/v1/orders/${replay.body.id}`);
    expect(replay.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('is the first reply also after the resource has moved on [R-6]', async () => {
    const key = randomUUID();
    const first = await post(orders(), orderBody(), { key });
    await post(`${shop.api.url}/v1/charges`, { orderId: first.body.id, paymentMethod: 'pm_card_visa' });
    expect((await get(`${orders()}/${first.body.id}`)).body.status).toBe('paid');
    const replay = await post(orders(), orderBody(), { key });
    expect(replay.text).toBe(first.text);
    expect(replay.body.status).toBe('pending');
  });

  it('is stored whole: the largest order has a reply far below the cap [R-9]', async () => {
    const items = Array.from({ length: 100 }, (_, n) => ({
      sku: `${n}`.padEnd(100, '\u6f22'),
      description: '\u6f22'.repeat(200),
      quantity: 1,
      unitAmount: 1,
    }));
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${n}`, '\u6f22'.repeat(500)]));
    const key = randomUUID();
    const first = await post(orders(), orderBody({ items, metadata }), { key });
    expect(first.status).toBe(201);
    expect(Buffer.byteLength(first.text)).toBeLessThan(256 * 1024);
    expect((await post(orders(), orderBody({ items, metadata }), { key })).text).toBe(first.text);
    await expect(
      shop.db.sql("UPDATE idempotency_keys SET reply_body = repeat('x', 1048577)::bytea WHERE key = $1", [
        key,
      ]),
    ).rejects.toThrow(/check constraint/);
  });

  it('decodes to the same bytes whatever encodings the client takes [R-11]', async () => {
    const key = randomUUID();
    const first = await post(orders(), orderBody(), { key, headers: { 'accept-encoding': 'identity' } });
    const replay = await post(orders(), orderBody(), { key, headers: { 'accept-encoding': 'br, gzip' } });
    expect(replay.text).toBe(first.text);
  });

  it('does not depend on today\u2019s validation: what was accepted once is replayed [R-10]', async () => {
    const key = randomUUID();
    const first = await post(orders(), orderBody(), { key });
    const invalid = orderBody({ currency: 'not a currency' });
    // As if the rules had changed since: the stored request is one that today's pipes refuse.
    const refused = await post(orders(), invalid, { key: randomUUID() });
    expect(refused.status).toBe(400);
    const { hash } = fingerprint({ method: 'POST', url: '/v1/orders', body: invalid }, SANDBOX_SECRET, [
      '/clientSentAt',
    ]);
    await shop.db.sql('UPDATE idempotency_keys SET fingerprint = $2 WHERE key = $1', [key, hash]);
    expect((await post(orders(), invalid, { key })).text).toBe(first.text);
  });
});

describe('The truth about a key', () => {
  it('is told to its tenant: status, attempts, charge and expiry, never the stored body', async () => {
    const key = randomUUID();
    const checkout = await post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key });
    const { status, body } = await get(`${shop.api.url}/v1/idempotency-keys?key=${key}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      key,
      operation: 'checkout',
      status: 'finished',
      recoveryPoint: 'finished',
      attempts: 1,
      replyStatus: 201,
      charge: checkout.body.charge,
    });
    expect(Date.parse(body.expiresAt as string) - Date.parse(body.completedAt as string)).toBe(
      72 * 3_600_000,
    );
  });

  it('is found by its key as the header may have it, bare or between quotes', async () => {
    const key = 'a "quoted" key';
    const header = String.raw`"a \"quoted\" key"`;
    await post(orders(), orderBody(), { key: header });
    const read = (text: string) => get(`${shop.api.url}/v1/idempotency-keys?key=${encodeURIComponent(text)}`);
    expect((await read(key)).body.key).toBe(key);
    expect((await read(header)).body).toEqual((await read(key)).body);
    const longest = 'l'.repeat(255);
    await post(orders(), orderBody(), { key: longest });
    expect((await read(`"${longest}"`)).body.key).toBe(longest);
    for (const wrong of ['"k', '""', `"${longest}l"`, `${longest}l`])
      expect(await read(wrong)).toMatchObject({ status: 400, body: { errors: [{ param: 'key' }] } });
  });

  it('is 404 for a key that nobody, or another tenant, has used', async () => {
    const key = randomUUID();
    await post(orders(), orderBody(), { key });
    for (const apiKey of [GLOBEX.key]) {
      const { status, body } = await get(`${shop.api.url}/v1/idempotency-keys?key=${key}`, { apiKey });
      expect(status).toBe(404);
      expect(body.code).toBe('idempotency_key_not_found');
    }
  });

  it('of a charge whose outcome is unknown says so', async () => {
    const key = randomUUID();
    await shop.provider.fault('drop_after', { times: 2 });
    await shop.provider.fault('search_down', { times: 1 });
    expect((await post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key })).status).toBe(503);
    const { body } = await get(`${shop.api.url}/v1/idempotency-keys?key=${key}`);
    expect(body).toMatchObject({
      status: 'in_progress',
      recoveryPoint: 'order_created',
      charge: { status: 'unknown' },
    });
    await shop.provider.clearFaults();
    expect((await post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key })).status).toBe(201);
  });
});

describe('The provider', () => {
  it('sees derived keys that begin with the deployment, and hold nothing of the client\u2019s key [P-4, P-5, P-11]', async () => {
    const key = 'k'.repeat(255);
    const { body } = await post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key });
    const { charges } = await shop.provider.ledger();
    const charge = charges.find(({ metadata }) => metadata['order_id'] === body.order.id)!;
    expect(charge.idempotencyKey).toMatch(/^test:idem_[0-9a-z]{26}:charge$/);
    expect(charge.metadata).toMatchObject({ tenant_id: 'acme', charge_id: body.charge.id });
  });

  it('and the ledger agree on every sum, currency by currency [MON-11]', async () => {
    await post(`${shop.api.url}/v1/checkouts`, checkoutBody({ currency: 'JPY' }));
    await post(
      `${shop.api.url}/v1/checkouts`,
      checkoutBody({ paymentMethod: 'pm_card_visa_chargeDeclined' }),
    );
    const ours = await shop.db.sql<{ currency: string; sum: string }>(
      'SELECT currency, sum(amount)::text FROM ledger_entries GROUP BY currency ORDER BY currency',
    );
    const theirs = new Map<string, number>();
    for (const { currency, amount, status } of (await shop.provider.ledger()).charges) {
      if (status === 'succeeded') theirs.set(currency, (theirs.get(currency) ?? 0) + amount);
    }
    expect(ours).toEqual([...theirs].sort().map(([currency, sum]) => ({ currency, sum: String(sum) })));
    expect(ours.length).toBeGreaterThan(1);
  });
});
