import { randomUUID } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { ACME, startApi, type StartedApi } from '../support/start-api.js';

const ORDER = {
  currency: 'usd',
  items: [{ sku: 'mug', quantity: 1, unitAmount: 1_250 }],
  customer: { email: 'ada@example.com' },
};
const CHECKOUT = { ...ORDER, paymentMethod: 'pm_card_visa' };

/** One past the largest body that is taken. */
const TOO_LARGE = `{"sku":"${'x'.repeat(256 * 1024)}"}`;

const REPLY = 'SELECT reply_status, reply_body, xmin::text AS writer FROM idempotency_keys WHERE key = $1';

/** The transaction that wrote each row that a checkout leaves behind. */
const WRITERS = `
  SELECT o.xmin::text AS order, c.xmin::text AS charge, l.xmin::text AS ledger, m.xmin::text AS message
    FROM orders o
    JOIN charges c ON (c.tenant_id, c.order_id) = (o.tenant_id, o.id)
    JOIN ledger_entries l ON (l.tenant_id, l.subject) = (o.tenant_id, o.id)
    JOIN outbox_messages m ON m.tenant_id = o.tenant_id AND m.dedupe_key LIKE '%' || o.id
   WHERE o.id = $1`;

describe('A request with a key is checked', () => {
  let db: TestDatabase;
  let provider: MockProvider;
  let api: StartedApi;
  beforeAll(async () => {
    db = await createTestDatabase();
    provider = await startMockProvider();
    api = await startApi({ databaseUrl: db.url, providerUrl: provider.url, ROLE: 'api' });
  });
  afterAll(async () => {
    await api.stop();
    await provider.stop();
    await db.drop();
  });

  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${api.url}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${ACME.key}`, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  };
  const order = (body: unknown, key: string) => post('/v1/orders', body, { 'Idempotency-Key': key });
  const keys = () => db.sql('SELECT key FROM idempotency_keys');

  it('for its size first: a stranger with too much of nothing gets 413, not 401 [O-1]', async () => {
    const { status } = await post('/v1/orders', TOO_LARGE, { Authorization: 'Bearer nobody' });
    expect(status).toBe(413);
  });

  it('then for who asks: a stranger gets 401, whatever is wrong with key and body [O-2]', async () => {
    const { status } = await post('/v1/orders', '{"a":1,', {
      Authorization: 'Bearer nobody',
      'Idempotency-Key': '"',
    });
    expect(status).toBe(401);
  });

  it('then for its key: a missing or malformed one is told before a body that cannot be read [O-4]', async () => {
    expect((await post('/v1/orders', '{"a":1,')).body.code).toBe('idempotency_key_missing');
    expect((await order('{"a":1,', '"')).body.code).toBe('idempotency_key_invalid');
  });

  it('then for its JSON: what cannot be read is no mismatch, and the key still replays [O-5]', async () => {
    const key = randomUUID();
    await order(ORDER, key);
    expect((await order('{"a":1,"a":2}', key)).status).toBe(400);
    expect((await order(ORDER, key)).headers.get('Idempotent-Replayed')).toBe('true');
  });

  it('then for what is known of the key; one that has expired is not known [O-6, T-2, T-3]', async () => {
    const key = randomUUID();
    const first = await order(ORDER, key);
    await db.sql(
      `UPDATE idempotency_keys SET completed_at = now() - interval '73 hours', expires_at = now() - interval '1 hour'
        WHERE key = $1`,
      [key],
    );
    const other = await order({ ...ORDER, currency: 'eur' }, key);
    expect(other.status).toBe(201);
    expect(other.body.id).not.toBe(first.body.id);
  });

  it('and a known key is decided before its body is validated: a bad body is a mismatch [O-7, R-10]', async () => {
    const key = randomUUID();
    await order(ORDER, key);
    expect((await order({ ...ORDER, currency: 7 }, key)).body.code).toBe('idempotency_key_mismatch');
  });

  it('then, where the key is new, for its body and what it names, and nothing is left behind [O-8, E-3]', async () => {
    const before = await keys();
    const key = randomUUID();
    expect((await order({ ...ORDER, items: [] }, key)).status).toBe(400);
    const nowhere = { orderId: 'ord_01h455vb4pex5vsknk084sn02q', paymentMethod: 'pm_card_visa' };
    expect((await post('/v1/charges', nowhere, { 'Idempotency-Key': key })).status).toBe(404);
    expect(await keys()).toEqual(before);
    expect((await order(ORDER, key)).status).toBe(201);
  });

  it('then by the claim: who loses it gets what the winner answered, or 409 [O-9, C-3]', async () => {
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 10 }, () => order(ORDER, key)));
    const winners = answers.filter(({ status }) => status === 201);
    expect(new Set(winners.map(({ text }) => text)).size).toBe(1);
    expect(winners.filter(({ headers }) => !headers.has('Idempotent-Replayed'))).toHaveLength(1);
    const others = answers.filter(({ status }) => status !== 201);
    expect(others.filter(({ body }) => body.code !== 'idempotency_key_in_use')).toEqual([]);
  });

  it('and its last phase writes order, charge, ledger, message and reply in one transaction [O-10, R-12]', async () => {
    const key = randomUUID();
    const { body } = await post('/v1/checkouts', CHECKOUT, { 'Idempotency-Key': key });
    const [{ writer } = { writer: '' }] = await db.sql<{ writer: string }>(REPLY, [key]);
    expect(await db.sql(WRITERS, [body.order.id])).toEqual([
      { order: writer, charge: writer, ledger: writer, message: writer },
    ]);
  });

  it('and what is sent is what was stored, first and ever after [O-11, E-7, R-1]', async () => {
    const key = randomUUID();
    const declined = { ...CHECKOUT, paymentMethod: 'pm_card_visa_chargeDeclined' };
    const first = await post('/v1/checkouts', declined, { 'Idempotency-Key': key });
    const [stored] = await db.sql<{ reply_status: number; reply_body: Buffer }>(REPLY, [key]);
    expect({ status: first.status, text: first.text }).toEqual({
      status: stored!.reply_status,
      text: stored!.reply_body.toString(),
    });
    expect(first.status).toBe(402);
    expect((await post('/v1/checkouts', declined, { 'Idempotency-Key': key })).text).toBe(first.text);
  });
});
