import { randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { SANDBOX_SECRET } from '../../src/config/published.js';
import { addApiKey } from '../../src/tenancy/api-keys.js';
import { checkoutBody, get, orderBody, post } from '../support/checkout.js';
import { openShop, type Shop } from '../support/shop.js';
import { ACME, GLOBEX } from '../support/start-api.js';

let shop: Shop;
beforeAll(async () => void (shop = await openShop()));
afterAll(() => shop.close());

const orders = () => `${shop.api.url}/v1/orders`;
const rowsOf = (key: string) => shop.db.sql('SELECT * FROM idempotency_keys WHERE key = $1', [key]);
const countOrders = async () =>
  (await shop.db.sql<{ count: number }>('SELECT count(*)::int FROM orders'))[0]!.count;

/** POSTs an order with exactly these header lines; fetch would join or refuse some of them. */
function postRaw(
  lines: readonly string[],
  body = JSON.stringify(orderBody()),
): Promise<{ status: number; headers: IncomingHttpHeaders; body: any }> {
  const headers = [
    'Authorization',
    `Bearer ${ACME.key}`,
    'Content-Type',
    'application/json',
    'Host',
    'localhost',
    ...lines,
  ];
  return new Promise((resolve, reject) => {
    const request = httpRequest(orders(), { method: 'POST', headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: JSON.parse(text) as unknown,
        });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

describe('The header Idempotency-Key', () => {
  it.each(['Idempotency-Key', 'idempotency-key', 'IDEMPOTENCY-KEY'])('is found as %s [H-1]', async (name) => {
    const key = randomUUID();
    expect((await postRaw([name, key])).status).toBe(201);
    expect(await rowsOf(key)).toHaveLength(1);
  });

  it('names the same key quoted and bare: the other form replays [H-3, H-4]', async () => {
    const key = `order-1001:${randomUUID()}`;
    const first = await postRaw(['Idempotency-Key', key]);
    for (const form of [`"${key}"`, `"${key}";a=1`]) {
      const again = await postRaw(['Idempotency-Key', form]);
      expect(again.headers['idempotent-replayed']).toBe('true');
      expect(again.body.id).toBe(first.body.id);
    }
  });

  it.each([
    ['two different lines', 'b'],
    ['the same line twice', 'a'],
  ])('is refused with %s [H-8]', async (_what, second) => {
    const before = await countOrders();
    const answer = await postRaw(['Idempotency-Key', 'a', 'Idempotency-Key', second]);
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('idempotency_key_invalid');
    expect(await countOrders()).toBe(before);
  });

  it('loses the spaces around it [H-11]', async () => {
    const key = randomUUID();
    await postRaw(['Idempotency-Key', `  ${key}  `]);
    expect((await postRaw(['Idempotency-Key', key])).headers['idempotent-replayed']).toBe('true');
  });

  it.each(['', '""', 'a b', '"a', 'x'.repeat(256), 'f\u00fc'])(
    'is refused when it is malformed: (%s) [H-5, H-6, H-7, H-9]',
    async (value) => {
      const before = await countOrders();
      const answer = await postRaw(['Idempotency-Key', value]);
      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({ code: 'idempotency_key_invalid', status: 400 });
      expect(answer.headers['link']).toContain('rel="describedby"');
      expect(await countOrders()).toBe(before);
    },
  );

  it('is required, and the refusal links to its documentation [M-1]', async () => {
    const before = await countOrders();
    const answer = await postRaw([]);
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('idempotency_key_missing');
    expect(answer.body.error.doc_url).toBeDefined();
    expect(answer.headers['link']).toContain('rel="describedby"');
    expect(await countOrders()).toBe(before);
  });

  it('has no effect on reads, and does not clash with them [M-2, M-3]', async () => {
    const key = randomUUID();
    const order = await post(orders(), orderBody());
    const read = async () => {
      const response = await fetch(`${orders()}/${order.body.id}`, {
        headers: { authorization: `Bearer ${ACME.key}`, 'idempotency-key': key },
      });
      return (await response.json()) as { status: string };
    };
    expect((await read()).status).toBe('pending');
    await post(`${shop.api.url}/v1/charges`, { orderId: order.body.id, paymentMethod: 'pm_card_visa' });
    expect((await read()).status).toBe('paid');
    expect((await post(orders(), orderBody(), { key })).status).toBe(201);
  });

  it('is documented: limits, routes, retention, scope, what is stored, what is compared [M-5, SC-6]', async () => {
    const document = (await (await fetch(`${shop.api.url}/docs/openapi.json`)).json()) as OpenApi;
    for (const path of ['/v1/orders', '/v1/charges', '/v1/checkouts']) {
      const header = document.paths[path]!.post!.parameters.find(({ name }) => name === 'Idempotency-Key')!;
      expect(header).toMatchObject({
        in: 'header',
        required: true,
        schema: { minLength: 1, maxLength: 255 },
      });
      for (const words of ['per tenant', 'regions', '72 hours', 'byte for byte', 'RFC 8785', 'Not stored']) {
        expect(header.description).toContain(words);
      }
    }
  });
});

interface OpenApi {
  readonly paths: Record<string, { post?: { parameters: { name: string; description: string }[] } }>;
}

describe('The scope of a key', () => {
  it('is the tenant, whichever of its API keys speaks [SC-2]', async () => {
    await addApiKey(shop.db.database, ACME.tenant, 'ck_test_acme_second', SANDBOX_SECRET);
    const key = randomUUID();
    const first = await post(orders(), orderBody(), { key });
    const rotated = await post(orders(), orderBody(), { key, apiKey: 'ck_test_acme_second' });
    expect(rotated.text).toBe(first.text);
    expect(rotated.headers.get('idempotent-replayed')).toBe('true');
  });

  it('ends at the tenant, and so between test and live mode: a tenant has one mode [SC-1, SC-3]', async () => {
    const key = randomUUID();
    const acme = await post(orders(), orderBody(), { key });
    const globex = await post(orders(), orderBody(), { key, apiKey: GLOBEX.key });
    expect(globex.status).toBe(201);
    expect(globex.body.id).not.toBe(acme.body.id);
    expect(
      (await get(`${shop.api.url}/v1/idempotency-keys?key=${key}`, { apiKey: GLOBEX.key })).body,
    ).toMatchObject({ key });
  });

  it('does not include the route: there it is a mismatch, not a second execution [SC-5]', async () => {
    const key = randomUUID();
    await post(orders(), orderBody(), { key });
    const other = await post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key });
    expect(other.status).toBe(422);
    expect(other.body.differs).toContain('path');
    expect(other.body.error.type).toBe('idempotency_error');
  });
});

describe('A request under a key that was used', () => {
  it('is the same whatever its headers, spacing, order of members or clock [F-2, F-9]', async () => {
    const key = randomUUID();
    const first = await post(orders(), orderBody({ clientSentAt: '2026-01-31T12:00:00Z' }), { key });
    const { currency, items, customer } = orderBody();
    const shuffled = JSON.stringify(
      { customer, items, currency, clientSentAt: '2026-01-31T12:00:07Z' },
      null,
      2,
    );
    const again = await post(orders(), shuffled, {
      key,
      headers: {
        'user-agent': 'another',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        accept: '*/*',
      },
    });
    expect(again.text).toBe(first.text);
  });

  it('with another value is refused by the name of the member, and poisons nothing [X-1, X-2, X-5, X-7]', async () => {
    const key = randomUUID();
    const first = await post(orders(), orderBody({ metadata: { secret: 'walrus' } }), { key });
    const other = await post(orders(), orderBody({ metadata: { secret: 'penguin' } }), { key });
    expect(other.status).toBe(422);
    expect(other.body).toMatchObject({
      code: 'idempotency_key_mismatch',
      differs: ['metadata'],
      error: { type: 'idempotency_error', code: 'idempotency_key_mismatch' },
    });
    expect(other.headers.get('link')).toContain('rel="describedby"');
    expect(other.headers.get('idempotent-replayed')).toBeNull();
    expect(other.text).not.toMatch(/walrus|penguin|ord_/);
    expect((await post(orders(), orderBody({ metadata: { secret: 'walrus' } }), { key })).text).toBe(
      first.text,
    );
  });
});
