import { randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import pg from 'pg';
import { SANDBOX_SECRET } from '../../src/config/config.js';
import { addApiKey } from '../../src/tenancy/api-keys.js';
import { checkoutBody, get, orderBody, post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { ACME, GLOBEX, startApi, type StartedApi } from '../support/start-api.js';

let db: TestDatabase;
let provider: MockProvider;
let api: StartedApi;

beforeAll(async () => {
  [db, provider] = await Promise.all([createTestDatabase(), startMockProvider()]);
  api = await startApi({ databaseUrl: db.url, providerUrl: provider.url });
});
afterAll(async () => {
  await api.stop();
  await provider.stop();
  await db.drop();
});

const orders = () => `${api.url}/v1/orders`;
const rowsOf = (key: string) => db.sql('SELECT * FROM idempotency_keys WHERE key = $1', [key]);
const countOrders = async () =>
  (await db.sql<{ count: number }>('SELECT count(*)::int FROM orders'))[0]!.count;

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
    await post(`${api.url}/v1/charges`, { orderId: order.body.id, paymentMethod: 'pm_card_visa' });
    expect((await read()).status).toBe('paid');
    expect((await post(orders(), orderBody(), { key })).status).toBe(201);
  });

  it('is documented: limits, routes, retention, scope, what is stored, what is compared [M-5, SC-6]', async () => {
    const document = (await (await fetch(`${api.url}/docs/openapi.json`)).json()) as OpenApi;
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
    await addApiKey(db.database, ACME.tenant, 'ck_test_acme_second', SANDBOX_SECRET);
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
      (await get(`${api.url}/v1/idempotency-keys?key=${key}`, { apiKey: GLOBEX.key })).body,
    ).toMatchObject({ key });
  });

  it('does not include the route: there it is a mismatch, not a second execution [SC-5]', async () => {
    const key = randomUUID();
    await post(orders(), orderBody(), { key });
    const other = await post(`${api.url}/v1/checkouts`, checkoutBody(), { key });
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

describe('A replay', () => {
  it('has the stored headers and none that belong to one exchange [R-2]', async () => {
    const key = randomUUID();
    await post(orders(), orderBody(), { key });
    const [row] = await db.sql<{ reply_headers: Record<string, string> }>(
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
    await post(`${api.url}/v1/charges`, { orderId: first.body.id, paymentMethod: 'pm_card_visa' });
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
      db.sql("UPDATE idempotency_keys SET reply_body = repeat('x', 1048577)::bytea WHERE key = $1", [key]),
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
    const { fingerprint } = await import('../../src/idempotency/fingerprint.js');
    const { hash } = fingerprint({ method: 'POST', url: '/v1/orders', body: invalid }, SANDBOX_SECRET, [
      '/clientSentAt',
    ]);
    await db.sql('UPDATE idempotency_keys SET fingerprint = $2 WHERE key = $1', [key, hash]);
    expect((await post(orders(), invalid, { key })).text).toBe(first.text);
  });
});

describe('The truth about a key', () => {
  it('is told to its tenant: status, attempts, charge and expiry, never the stored body', async () => {
    const key = randomUUID();
    const checkout = await post(`${api.url}/v1/checkouts`, checkoutBody(), { key });
    const { status, body } = await get(`${api.url}/v1/idempotency-keys?key=${key}`);
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

  it('is 404 for a key that nobody, or another tenant, has used', async () => {
    const key = randomUUID();
    await post(orders(), orderBody(), { key });
    for (const apiKey of [GLOBEX.key]) {
      const { status, body } = await get(`${api.url}/v1/idempotency-keys?key=${key}`, { apiKey });
      expect(status).toBe(404);
      expect(body.code).toBe('idempotency_key_not_found');
    }
  });

  it('of a charge whose outcome is unknown says so', async () => {
    const key = randomUUID();
    await provider.fault('drop_after', { times: 2 });
    await provider.fault('search_down', { times: 1 });
    expect((await post(`${api.url}/v1/checkouts`, checkoutBody(), { key })).status).toBe(503);
    const { body } = await get(`${api.url}/v1/idempotency-keys?key=${key}`);
    expect(body).toMatchObject({
      status: 'in_progress',
      recoveryPoint: 'order_created',
      charge: { status: 'unknown' },
    });
    await provider.clearFaults();
    expect((await post(`${api.url}/v1/checkouts`, checkoutBody(), { key })).status).toBe(201);
  });
});

describe('An outcome that is in doubt', () => {
  const checkout = (key: string) => post(`${api.url}/v1/checkouts`, checkoutBody(), { key });
  const chargeOf = async (key: string) =>
    (await get(`${api.url}/v1/idempotency-keys?key=${key}`)).body.charge;
  afterEach(() => provider.clearFaults());

  it('stays so when a later try is refused: nobody is told that nothing happened [E-4, E-5, P-7]', async () => {
    const key = randomUUID();
    await provider.fault('drop_after', { times: 1 });
    await provider.fault('rate_limit', { times: 1 });
    await provider.fault('search_down', { times: 1 });
    const answer = await checkout(key);
    expect([answer.status, answer.body.code]).toEqual([503, 'outcome_unknown']);
    expect(await chargeOf(key)).toMatchObject({ status: 'unknown' });
    await provider.fault('rate_limit', { times: 1 });
    await provider.fault('search_down', { times: 1 });
    expect((await checkout(key)).body.code).toBe('outcome_unknown');
    const done = await checkout(key);
    expect(done.status).toBe(201);
    const { charges } = await provider.ledger();
    expect(charges.filter(({ metadata }) => metadata['order_id'] === done.body.order.id)).toHaveLength(1);
  });

  it('is looked up and adopted at once after a second unknown, and after a 500 that is only replayed [E-4, P-8]', async () => {
    for (const [kind, times, calls] of [
      ['drop_after', 2, 2],
      ['error_after', 1, 2],
    ] as const) {
      await provider.fault(kind, { times });
      const answer = await checkout(randomUUID());
      expect(answer.status).toBe(201);
      const { charges } = await provider.ledger();
      const charge = charges.find(({ metadata }) => metadata['order_id'] === answer.body.order.id);
      expect(charge).toMatchObject({ status: 'succeeded', calls });
    }
  });

  it('is none where the provider was not reached or refused: it did nothing [E-5, P-7]', async () => {
    const key = randomUUID();
    await provider.fault('rate_limit', { times: 1 });
    const answer = await checkout(key);
    expect([answer.status, answer.body.code]).toEqual([503, 'provider_unavailable']);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await chargeOf(key)).toMatchObject({ status: 'pending' });
    expect((await checkout(key)).status).toBe(201);
  });

  it('once the provider may have forgotten its key is looked up and never sent again', async () => {
    const key = randomUUID();
    await provider.fault('drop_after', { times: 2 });
    await provider.fault('search_down', { times: 1 });
    expect((await checkout(key)).status).toBe(503);
    await db.sql("UPDATE idempotency_keys SET first_sent_at = now() - interval '25 h' WHERE key = $1", [key]);
    const adopted = await checkout(key);
    expect(adopted.status).toBe(201);
    const { charges } = await provider.ledger();
    const charge = charges.find(({ metadata }) => metadata['order_id'] === adopted.body.order.id);
    expect(charge).toMatchObject({ calls: 2 });
  });

  it('that nobody can settle any more goes to a person, and nothing is charged again', async () => {
    const key = randomUUID();
    await provider.fault('drop_before', { times: 2 });
    await provider.fault('search_down', { times: 1 });
    expect((await checkout(key)).status).toBe(503);
    await db.sql("UPDATE idempotency_keys SET first_sent_at = now() - interval '25 h' WHERE key = $1", [key]);
    const held = await checkout(key);
    expect([held.status, held.body.code]).toEqual([409, 'idempotency_key_under_review']);
    expect(await chargeOf(key)).toMatchObject({ status: 'review' });
    const [review] = await db.sql<{ reason: string; evidence: Record<string, unknown> }>(
      'SELECT r.reason, r.evidence FROM reviews r JOIN idempotency_keys k ON r.subject_id = k.id WHERE k.key = $1',
      [key],
    );
    expect(review).toMatchObject({ reason: 'provider_window_over', evidence: { step: 'charge' } });
    expect((await checkout(key)).status).toBe(409);
  });
});

describe('A key from another build of the service', () => {
  it.each([
    ['fingerprint_scheme = 2', 'fingerprint_unknown'],
    [
      "status = 'in_progress', operation = 'create_order_v2', reply_status = NULL, expires_at = NULL",
      'recovery_point_unknown',
    ],
  ])('is neither refused for good nor run: 503 (%s)', async (change, code) => {
    const key = randomUUID();
    await post(orders(), orderBody(), { key });
    await db.sql(`UPDATE idempotency_keys SET ${change} WHERE key = $1`, [key]);
    const answer = await post(orders(), orderBody(), { key });
    expect([answer.status, answer.body.code]).toEqual([503, code]);
    expect(answer.headers.get('retry-after')).toBe('1');
  });
});

describe('Ids that cannot be', () => {
  it.each([
    ['/v1/orders/%00', 404],
    ['/v1/charges/%00', 404],
    ['/v1/orders/ord_%F0%9F%98%80', 404],
    ['/v1/idempotency-keys?key=%00', 400],
    ['/v1/idempotency-keys', 400],
    ['/v1/orders?cursor=%00', 400],
    ['/v1/orders?limit=1e9', 400],
  ])('are refused without asking the database: %s', async (path, status) => {
    expect((await get(`${api.url}${path}`)).status).toBe(status);
  });
});

describe('Sandbox-Fault', () => {
  it.each([
    'nonsense',
    'call.after:charge=explode',
    'toString:x=throw',
    'phase.after_commit:no_such_point=throw',
    'reply.before_send:x=throw',
    'call.before:charge=lose_commit_answer',
  ])('that would never fire is refused: %s', async (fault) => {
    const faulty = await startApi({ databaseUrl: db.url, providerUrl: provider.url, FAULTS: 'on' });
    const answer = await post(`${faulty.url}/v1/checkouts`, checkoutBody(), {
      headers: { 'sandbox-fault': fault },
    });
    await faulty.stop();
    expect([answer.status, answer.body.code]).toEqual([400, 'sandbox_fault_invalid']);
    expect(answer.body.detail).toContain('phase.before_commit:order_created');
  });

  it('means nothing where faults are off', async () => {
    const headers = { 'sandbox-fault': 'reply.before_send=crash' };
    expect((await post(orders(), orderBody(), { headers })).status).toBe(201);
  });
});

describe('Waiting for a lock', () => {
  it('ends in 409 or 503 with Retry-After, never in a 500 [ERR-6]', async () => {
    const order = await post(orders(), orderBody());
    const blocker = new pg.Client(db.url);
    await blocker.connect();
    await blocker.query('BEGIN');
    await blocker.query('SELECT 1 FROM orders WHERE id = $1 FOR UPDATE', [order.body.id]);
    const key = randomUUID();
    await blocker.query(
      `INSERT INTO idempotency_keys SELECT (jsonb_populate_record(k, jsonb_build_object('key', $1::text))).* FROM idempotency_keys k LIMIT 1`,
      [key],
    );
    const [charge, claim] = await Promise.all([
      post(`${api.url}/v1/charges`, { orderId: order.body.id, paymentMethod: 'pm_card_visa' }),
      post(orders(), orderBody(), { key }),
    ]);
    await blocker.query('ROLLBACK');
    await blocker.end();
    expect([charge.status, charge.body.code]).toEqual([503, 'store_unavailable']);
    expect([claim.status, claim.body.code]).toEqual([409, 'idempotency_key_in_use']);
    for (const { headers } of [charge, claim])
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });
});

describe('The provider', () => {
  it('sees derived keys that begin with the deployment, and hold nothing of the client\u2019s key [P-4, P-5, P-11]', async () => {
    const key = 'k'.repeat(255);
    const { body } = await post(`${api.url}/v1/checkouts`, checkoutBody(), { key });
    const { charges } = await provider.ledger();
    const charge = charges.find(({ metadata }) => metadata['order_id'] === body.order.id)!;
    expect(charge.idempotencyKey).toMatch(/^test:idem_[0-9a-z]{26}:charge$/);
    expect(charge.metadata).toMatchObject({ tenant_id: 'acme', charge_id: body.charge.id });
  });

  it('and the ledger agree on every sum, currency by currency [MON-11]', async () => {
    await post(`${api.url}/v1/checkouts`, checkoutBody({ currency: 'JPY' }));
    await post(`${api.url}/v1/checkouts`, checkoutBody({ paymentMethod: 'pm_card_visa_chargeDeclined' }));
    const ours = await db.sql<{ currency: string; sum: string }>(
      'SELECT currency, sum(amount)::text FROM ledger_entries GROUP BY currency ORDER BY currency',
    );
    const theirs = new Map<string, number>();
    for (const { currency, amount, status } of (await provider.ledger()).charges) {
      if (status === 'succeeded') theirs.set(currency, (theirs.get(currency) ?? 0) + amount);
    }
    expect(ours).toEqual([...theirs].sort().map(([currency, sum]) => ({ currency, sum: String(sum) })));
    expect(ours.length).toBeGreaterThan(1);
  });
});
