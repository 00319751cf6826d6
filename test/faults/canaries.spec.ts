import { checkoutBody, get, post } from '../support/checkout.js';
import { scrape } from '../support/metrics.js';
import { ACME } from '../support/start-api.js';
import { startSystem, type System } from '../support/start-system.js';

/** What must be found nowhere but where it belongs. */
const CANARIES = {
  email: 'canary-mail@example.com',
  name: 'Canary Person',
  key: 'canary-idempotency-key',
  card: '4242424242424242',
  paymentMethod: 'pm_canaryToken',
  metadata: 'canary-metadata',
  sku: 'canary-sku',
  address: 'Canary Street',
  operator: 'canary-operator-token-1',
  metrics: 'canary-metrics-token-1',
  foreign: 'ck_test_canaryOfNobody',
};

let system: System;
beforeAll(async () => {
  system = await startSystem({
    workers: 1,
    LOG_LEVEL: 'trace',
    FAULTS: 'on',
    OPERATOR_TOKENS: CANARIES.operator,
    IDEMPOTENCY_LEASE_SECONDS: '3',
    COMPLETER_GRACE_SECONDS: '4',
  });
});
afterAll(() => system.stop());

const url = () => system.apis[0]!.url;
const body = (changes: Record<string, unknown> = {}) =>
  checkoutBody({
    customer: { email: CANARIES.email, name: CANARIES.name },
    items: [{ sku: CANARIES.sku, quantity: 1, unitAmount: 700 }],
    metadata: { note: CANARIES.metadata },
    shippingAddress: { line1: CANARIES.address, city: 'X', postalCode: '1', country: 'DE' },
    ...changes,
  });
const checkout = (name: string, changes = {}, headers = {}) =>
  post(`${url()}/v1/checkouts`, body(changes), { key: `${CANARIES.key}-${name}`, headers });

interface AttemptLine {
  readonly msg: string;
  readonly keyId: string;
  readonly [member: string]: unknown;
}

const attempts = (logs: string) =>
  logs
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as AttemptLine)
    .filter(({ msg }) => msg === 'attempt');

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('It did not come to be within 15 s');
}

describe('Answers', () => {
  it('to whoever has no right to ask repeat neither what they showed nor what they asked for', async () => {
    const [{ stored }] = (await system.database.sql('SELECT encode(hash, $1) AS stored FROM api_keys', [
      'hex',
    ])) as [{ stored: string }];
    const path = `${url()}/v1/idempotency-keys?key=${CANARIES.key}-nobody`;
    const answers = await Promise.all([
      post(`${url()}/v1/checkouts`, body(), { key: `${CANARIES.key}-x`, apiKey: CANARIES.foreign }),
      get(path, { apiKey: CANARIES.operator }),
      get(`${url()}/v1/operator/reviews`, { apiKey: ACME.key }),
      get(`${url()}/v1/operator/reviews?email=${CANARIES.email}`, { apiKey: CANARIES.foreign }),
      get(`${url()}/nowhere/${CANARIES.email}`, { apiKey: CANARIES.foreign }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 403, 401, expect.any(Number)]);
    const secrets = [...Object.values(CANARIES), ACME.key, stored, 'sk_test_key', 'sandbox-only-secret'];
    const leaks = secrets.filter((secret) => answers.some(({ text }) => text.includes(secret)));
    expect(leaks).toEqual([]);
  });
});

describe('Logs and metrics', () => {
  it('hold no secret, no key, no card and nothing of the customer, whatever goes wrong', async () => {
    expect((await checkout('paid')).status).toBe(201);
    expect((await checkout('paid')).status).toBe(201);
    expect((await checkout('paid', { currency: 'usd' })).status).toBe(422);
    expect((await checkout('declined', { paymentMethod: 'pm_card_visa_chargeDeclined' })).status).toBe(402);
    expect((await checkout('rejected', { paymentMethod: CANARIES.paymentMethod })).status).toBe(402);
    for (const hiding of [
      { paymentMethod: CANARIES.card },
      { metadata: { note: CANARIES.card } },
      { metadata: { [CANARIES.card]: 'x' } },
      { externalRef: CANARIES.card },
      { items: [{ sku: 'x', description: `card ${CANARIES.card}`, quantity: 1, unitAmount: 700 }] },
    ])
      expect((await checkout('card', hiding)).body.code).toBe('card_number_refused');
    expect((await checkout(CANARIES.card)).body.code).toBe('card_number_refused');
    expect(
      (await checkout('thrown', {}, { 'sandbox-fault': 'phase.after_commit:order_created=throw' })).status,
    ).toBe(500);
    await system.provider.fault('drop_before', { times: 2 });
    await system.provider.fault('search_down', { times: 1 });
    expect((await checkout('unknown')).status).toBe(503);
    await post(`${url()}/v1/checkouts`, `{"customer": "${CANARIES.email}"`, {
      key: `${CANARIES.key}-broken`,
    });
    await post(`${url()}/v1/checkouts`, body(), { apiKey: CANARIES.foreign });
    await get(`${url()}/v1/idempotency-keys?key=${CANARIES.key}-paid`);
    await get(`${url()}/v1/operator/reviews`, { apiKey: CANARIES.operator });
    await fetch(`${url()}/metrics`, { headers: { Authorization: `Bearer ${CANARIES.metrics}` } });
    await until(async () => {
      const [left] = await system.database.sql<{ count: number }>(
        `SELECT (SELECT count(*)::int FROM idempotency_keys WHERE status = 'in_progress')
              + (SELECT count(*)::int FROM outbox_messages WHERE sent_at IS NULL) AS count`,
      );
      return left!.count === 0; // the worker has finished both, and the mails are out
    });

    const told: string[] = [];
    for (const { logs, url: at } of [...system.apis, ...system.workers])
      told.push(logs(), (await scrape(at)).text);
    expect(told.every((text) => text.length > 500)).toBe(true);
    const secrets = [...Object.values(CANARIES), ACME.key, 'sk_test_key', 'sandbox-only-secret'];
    const leaks = secrets.filter((secret) => told.some((text) => text.includes(secret)));
    expect(leaks).toEqual([]);
  });

  it('tell of each attempt once: whose, which key by its row, how far it came, how it ended, how long it took', async () => {
    const [{ id }] = (await system.database.sql<{ id: string }>(
      'SELECT id FROM idempotency_keys WHERE key = $1',
      [`${CANARIES.key}-paid`],
    )) as [{ id: string }];
    const paid = attempts(system.apis[0]!.logs()).filter(({ keyId }) => keyId === id);
    expect(paid).toEqual([
      expect.objectContaining({
        level: 30,
        tenant: 'acme',
        operation: 'checkout',
        by: 'request',
        first: true,
        passed: ['order_created', 'finished'],
        end: 'finished',
        status: 201,
        ms: expect.any(Number),
      }),
    ]);
  });

  it('tell of the worker’s attempts in the same words', async () => {
    const [{ id }] = (await system.database.sql<{ id: string }>(
      'SELECT id FROM idempotency_keys WHERE key = $1',
      [`${CANARIES.key}-unknown`],
    )) as [{ id: string }];
    expect(attempts(system.apis[0]!.logs()).find(({ keyId }) => keyId === id)).toMatchObject({
      level: 40,
      first: true,
      passed: ['order_created'],
      recoveryPoint: 'order_created',
      end: 'given_up',
      reason: expect.any(String),
    });
    expect(attempts(system.workers[0]!.logs()).find(({ keyId }) => keyId === id)).toMatchObject({
      tenant: 'acme',
      by: 'completer',
      first: false,
      passed: ['finished'],
      end: 'finished',
    });
  });
});
