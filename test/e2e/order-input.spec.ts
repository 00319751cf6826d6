import { checkoutBody, get, orderBody, post } from '../support/checkout.js';
import { openShop, type Shop } from '../support/shop.js';

describe('The body of an order', () => {
  let shop: Shop;
  beforeAll(async () => void (shop = await openShop()));
  afterAll(() => shop.close());

  const create = (changes: Record<string, unknown>) => post(`${shop.api.url}/v1/orders`, orderBody(changes));
  const address = { line1: '12 Analytical Row', city: 'London', postalCode: 'N1 7AA', country: 'GB' };
  const item = { sku: 'mug', quantity: 1, unitAmount: 1250 };

  it.each<[string, Record<string, unknown>]>([
    ['customer', { customer: [] }],
    ['customer', { customer: [[]] }],
    ['customer', { customer: [{ email: 'ada@example.com' }] }],
    ['customer', { customer: 'ada@example.com' }],
    ['customer', { customer: null }],
    ['shippingAddress', { shippingAddress: [address] }],
    ['shippingAddress', { shippingAddress: [] }],
    ['items', { items: {} }],
    ['items', { items: [[]] }],
    ['items', { items: [[item]] }],
    ['items', { items: [item, null] }],
    ['items', { items: [] }],
    ['metadata', { metadata: [] }],
    ['metadata', { metadata: { a: 1 } }],
    ['metadata', { metadata: { a: { b: 'c' } } }],
  ])('is refused where %s has another shape: %j', async (param, changes) => {
    const { status, body } = await create(changes);
    expect([status, body.code]).toEqual([400, 'validation_failed']);
    expect(body.error.param).toMatch(new RegExp(`^${param}`));
    expect(body.detail).not.toContain('NaN');
  });

  it.each(['toString', 'constructor', 'hasOwnProperty', 'valueOf', '__proto__'])(
    'is refused where a member is named %s, at any depth: it could not be kept',
    async (name) => {
      const member = `"${name}":"x"`;
      const bodies = [
        JSON.stringify(orderBody()).replace('{', `{${member},`),
        JSON.stringify(orderBody({ metadata: { ok: '1' } })).replace('"ok"', `${member},"ok"`),
        JSON.stringify(orderBody()).replace('"sku"', `${member},"sku"`),
      ];
      for (const body of bodies) {
        const answer = await post(`${shop.api.url}/v1/orders`, body);
        expect([answer.status, answer.body.code]).toEqual([400, 'invalid_json']);
      }
      const query = await get(`${shop.api.url}/v1/orders?${name}=1`);
      expect(query.status).toBe(400);
    },
  );

  it.each([
    ['a', 255],
    ['😀', 255],
    ['a\ufe0f', 127], // a letter and the selector of how it looks: two characters, also where one is seen
  ])('takes an externalRef as long as the table does: %j × %i, and no longer', async (part, times) => {
    expect((await create({ externalRef: part.repeat(times) })).status).toBe(201);
    const { status, body } = await create({ externalRef: part.repeat(times + 1) });
    expect([status, body.error.param]).toEqual([400, 'externalRef']);
  });

  it.each([
    '"a b"@example.com',
    'a,b@example.com',
    'a@b@example.com',
    'ada@',
    '<ada@example.com>',
    `${'x'.repeat(65)}@example.com`,
  ])('is refused with a mail address that no receipt would reach: %s', async (email) => {
    expect((await create({ customer: { email } })).body.error?.param).toBe('customer.email');
  });

  it.each(['ada@example.com', "o'neill+tea@sub.example.co.uk", 'j\u00fcrgen@example.com'])(
    'takes the mail address %s',
    async (email) => {
      expect((await create({ customer: { email } })).status).toBe(201);
    },
  );

  it.each(['1e2', '0x10', '1.0', '%201', '-1', '0', '101', ''])(
    'lists no page of limit=%s',
    async (limit) => {
      expect((await get(`${shop.api.url}/v1/orders?limit=${limit}`)).status).toBe(400);
    },
  );

  it('pages through the orders, the newest first, each once', async () => {
    const made: string[] = [];
    for (let n = 0; n < 5; n++) made.unshift((await create({})).body.id as string);
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const { body } = await get(`${shop.api.url}/v1/orders?limit=2${cursor}`);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(seen.slice(0, 5)).toEqual(made);
    expect(new Set(seen).size).toBe(seen.length);
    const paid = await get(`${shop.api.url}/v1/orders?status=paid`);
    expect(paid.body).toEqual({ data: [], nextCursor: null });
  });

  it('that the provider refuses is a stored 402 in whole sentences', async () => {
    const answer = await post(`${shop.api.url}/v1/checkouts`, checkoutBody({ paymentMethod: 'pm_unknown' }));
    expect([answer.status, answer.body.code]).toEqual([402, 'payment_rejected']);
    expect(answer.body.detail).toMatch(/[.!?] Nothing was charged\./);
  });
});
