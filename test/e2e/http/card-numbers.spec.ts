import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { orderBody, post } from '../../support/checkout.js';
import { OPERATORS } from '../../support/operator.js';
import { openShop, type Shop } from '../../support/shop.js';
import { ACME } from '../../support/start-api.js';

const CARD = '4000056655665556';
const SPACED = '4000-0566 5566 5556';

interface Route {
  readonly path: string;
  readonly method: string;
  readonly token: string;
}

/** Every route that takes a body, from the API's own description. The provider's events are the provider's, and signed. */
async function routesWithBody(): Promise<Route[]> {
  const { paths } = JSON.parse(await readFile('docs/openapi.json', 'utf8')) as {
    paths: Record<string, Record<string, { requestBody?: object }>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { requestBody }]) => requestBody)
      .map(([method]) => ({
        path: path.replaceAll(/\{\w+\}/g, 'some'),
        method: method.toUpperCase(),
        token: path.startsWith('/v1/operator') ? OPERATORS.ada : ACME.key,
      })),
  );
}

describe('A card number', () => {
  let shop: Shop;
  beforeAll(async () => void (shop = await openShop({ OPERATOR_TOKENS: OPERATORS.ada })));
  afterAll(() => shop.close());

  const send = async ({ path, method, token }: Route, body: string, key: string = randomUUID()) => {
    const answer = await fetch(shop.api.url + path, {
      method,
      body,
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': key,
      },
    });
    const text = `${[...answer.headers].join('\n')}\n${await answer.clone().text()}`;
    return { text, status: answer.status, problem: (await answer.json()) as Record<string, any> };
  };

  it('is refused on every route that takes a body, and not repeated [TC-7]', async () => {
    const routes = await routesWithBody();
    expect(routes.length).toBeGreaterThan(7);
    for (const route of routes) {
      const { text, status, problem } = await send(route, JSON.stringify({ anything: ['x', CARD] }));
      expect([route.path, status, problem['code'], problem['error'].param]).toEqual([
        route.path,
        400,
        'card_number_refused',
        'anything[1]',
      ]);
      expect(text).not.toContain(CARD);
    }
  });

  const orders: Route = { path: '/v1/orders', method: 'POST', token: ACME.key };
  const item = { sku: 'tea', quantity: 1, unitAmount: 850 };

  it.each([
    ['metadata.note', { metadata: { note: `paid with ${CARD}, thanks` } }],
    ['metadata', { metadata: { [CARD]: 'visa' } }],
    ['items[0].description', { items: [{ ...item, description: SPACED }] }],
    ['items[0].sku', { items: [{ ...item, sku: `card_${CARD}` }] }],
    ['customer.name', { customer: { email: 'ada@example.com', name: `Ada ${SPACED}` } }],
    ['externalRef', { externalRef: CARD }],
    ['paymentMethod', { paymentMethod: CARD }],
    ['items[0].unitAmount', { items: [{ ...item, unitAmount: Number(CARD) }] }],
    ['what.is[0].this', { what: { is: [{ this: SPACED }] } }],
  ])('is found in %s', async (param, changes) => {
    const { text, status, problem } = await send(orders, JSON.stringify({ ...orderBody(), ...changes }));
    expect([status, problem['code'], problem['error'].param]).toEqual([400, 'card_number_refused', param]);
    for (const written of [CARD, SPACED, '5566']) expect(text).not.toContain(written);
  });

  it('is found behind escapes, in a body that is no JSON, and where a number has more digits than it can keep', async () => {
    const escaped = await send(orders, String.raw`{"externalRef":"\u0034000\t0566\u20115566 5556"}`);
    expect([escaped.problem['code'], escaped.problem['error'].param]).toEqual([
      'card_number_refused',
      'externalRef',
    ]);
    for (const body of [`{"a": ${CARD}x}`, `{"a": "${CARD}`, `"${CARD}" x`, `{"a": 4917610000000000003}`]) {
      const { status, text } = await send(orders, body);
      expect(status).toBe(400);
      for (const written of ['40000', '5566', '49176']) expect(text).not.toContain(written);
    }
  });

  it('is no Idempotency-Key and no externalRef of a path either; the key is free afterwards', async () => {
    const asKey = await send(orders, JSON.stringify(orderBody()), `"${SPACED}"`);
    expect([asKey.status, asKey.problem['code'], asKey.problem['error'].param]).toEqual([
      400,
      'card_number_refused',
      'Idempotency-Key',
    ]);
    expect(asKey.text).not.toContain('5566');
    const put: Route = { ...orders, path: `/v1/orders/by-external-ref/${CARD}`, method: 'PUT' };
    const asRef = await send(put, JSON.stringify(orderBody()));
    expect([asRef.status, asRef.problem['code'], asRef.problem['error'].param]).toEqual([
      400,
      'card_number_refused',
      'ref',
    ]);

    const key = randomUUID();
    await send(orders, JSON.stringify({ ...orderBody(), externalRef: CARD }), key);
    expect((await post(shop.api.url + orders.path, orderBody(), { key })).status).toBe(201);
    const [{ count }] = (await shop.db.sql(`SELECT count(*)::int FROM orders`)) as [{ count: number }];
    expect(count).toBe(1);
  });
});
