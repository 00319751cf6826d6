import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { Database } from '../../src/database/transaction.js';
import { SharedUse } from '../../src/limits/shared-use.js';
import { checkoutBody, get, post, type Answer } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { openShop, type Shop } from '../support/shop.js';
import { ACME, GLOBEX } from '../support/start-api.js';

const PER_SECOND = 5;

function expectLimited({ status, headers, body }: Answer): void {
  expect([status, body.code]).toEqual([429, 'rate_limited']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(headers.get('should-retry')).toBe('true');
}

/** So fast that a bucket is empty sooner than it fills. */
async function untilLimited(send: () => Promise<Answer>): Promise<Answer> {
  for (let sent = 0; sent < 200; sent++) {
    const answers = await Promise.all(Array.from({ length: 10 }, send));
    const limited = answers.find(({ status }) => status === 429);
    if (limited) return limited;
  }
  throw new Error('never limited');
}

describe('A tenant that sends more than it may', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ TENANT_REQUESTS_PER_SECOND: String(PER_SECOND) });
  });
  afterAll(() => shop.close());

  const checkout = (key: string, body: unknown = checkoutBody(), apiKey = ACME.key) =>
    post(`${shop.api.url}/v1/checkouts`, body, { key, apiKey });
  const spent = () => untilLimited(() => get(`${shop.api.url}/v1/orders/ord_none`));

  it('is told when to come back, and its key is as it was: it works then [O-3]', async () => {
    const key = randomUUID();
    await spent();
    let answer = await checkout(key);
    for (let tries = 0; answer.status !== 429 && tries < 50; tries++) {
      await spent();
      answer = await checkout(randomUUID());
    }
    expectLimited(answer);
    while (answer.status === 429) answer = await checkout(key);
    expect(answer.status).toBe(201);
    expect(await shop.chargesOf(answer.body.order.id)).toHaveLength(1);
  });

  it('is told so before its key and body are looked at', async () => {
    const limited = await untilLimited(() => checkout('"not a key', '{"a":1,"a":2}'));
    expectLimited(limited);
  });

  it('slows nobody else', async () => {
    await spent();
    expect((await checkout(randomUUID(), checkoutBody(), GLOBEX.key)).status).toBe(201);
  });

  it('is counted, by kind and not by name', async () => {
    await spent();
    const metrics = await (await fetch(`${shop.api.url}/metrics`)).text();
    expect(metrics).toMatch(/^checkout_rate_limited_total\{of="tenant"\} [1-9]/m);
  });
});

describe('An address that sends more than it may', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({
      ADDRESS_REQUESTS_PER_SECOND: String(PER_SECOND),
      TRUST_PROXY: 'loopback',
    });
  });
  afterAll(() => shop.close());

  const from = (address: string, apiKey: string) =>
    get(`${shop.api.url}/v1/orders/ord_none`, { apiKey, headers: { 'X-Forwarded-For': address } });

  it('may not go on trying API keys [O-3]', async () => {
    expectLimited(await untilLimited(() => from('192.0.2.1', `ck_test_${randomUUID()}`)));
  });

  it('is one network of version 6, and not another', async () => {
    await untilLimited(() => from(`2001:db8:1:1::${Math.trunc(Math.random() * 9_999)}`, ACME.key));
    expect((await from('2001:db8:1:2::1', ACME.key)).status).toBe(404);
  });

  it('is still asked for its health', async () => {
    await untilLimited(() => from('192.0.2.2', ACME.key));
    for (let probe = 0; probe < 3 * PER_SECOND; probe++) {
      const headers = { 'X-Forwarded-For': '192.0.2.2' };
      expect((await fetch(`${shop.api.url}/health/ready`, { headers })).status).toBe(200);
    }
  });
});

describe('Where no proxy is trusted', () => {
  let shop: Shop;
  beforeAll(async () => void (shop = await openShop({ ADDRESS_REQUESTS_PER_SECOND: String(PER_SECOND) })));
  afterAll(() => shop.close());

  it('what a client says of its address is not believed', async () => {
    const limited = await untilLimited(() =>
      get(`${shop.api.url}/v1/orders/ord_none`, { headers: { 'X-Forwarded-For': randomUUID() } }),
    );
    expectLimited(limited);
  });
});

describe('What a tenant sends to one process', () => {
  let db: TestDatabase;
  let one: { database: Database; use: SharedUse; told: number };
  let other: typeof one;
  beforeAll(async () => {
    db = await createTestDatabase();
    await db.sql(`INSERT INTO tenants (id, name) VALUES ('acme', 'Acme')`);
    [one, other] = [await open(), await open()];
  });
  afterAll(async () => {
    await Promise.all([one.database.close(), other.database.close()]);
    await db.drop();
  });

  const open = async () => {
    const options = dataSourceOptions(
      { url: db.url, poolSize: 1, lease: 30 },
      { entities: [], migrations: [] },
    );
    const database = new Database(await new DataSource(options).initialize());
    const side = { database, use: new SharedUse(database), told: 0 };
    side.use.onUseElsewhere((_tenant, requests) => (side.told += requests));
    return side;
  };
  const sends = async ({ use }: typeof one, requests: number) => {
    for (let request = 0; request < requests; request++) use.note('acme');
    await use.reconcile();
  };

  it('is taken out of its bucket at the others, once', async () => {
    await sends(one, 3);
    await sends(other, 2); // what was before it first asked is none of its business
    expect([one.told, other.told]).toEqual([0, 0]);
    await sends(one, 7);
    await sends(other, 1);
    expect([one.told, other.told]).toEqual([2, 7]);
    await sends(one, 1);
    expect(one.told).toBe(3);
  });

  it('is not known to them while the database does not answer, and nobody fails of it', async () => {
    await one.database.close();
    await expect(sends(one, 3)).resolves.toBeUndefined();
  });
});
