import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { batchKey, sendInBatch, type AttemptNumbers } from '../../src/client/batch.js';
import { createCheckoutClient, type CheckoutClientOptions } from '../../src/client/checkout-client.js';
import { newKey, nextKey } from '../../src/client/keys.js';
import { PUBLISHED_RETENTION_HOURS } from '../../src/client/retry-policy.js';
import { Forwarder } from '../support/forwarder.js';
import { FakeClock } from '../support/fake-clock.js';
import { freePort } from '../support/free-port.js';
import { holdLock, waitingForLock } from '../support/locks.js';
import { expectLedgersAgree } from '../support/refunds.js';
import { openShop, type Shop } from '../support/shop.js';
import { ACME } from '../support/start-api.js';

const BODY = {
  currency: 'eur',
  items: [{ sku: 'mug', quantity: 2, unitAmount: 1250 }],
  customer: { email: 'ada@example.com' },
  paymentMethod: 'pm_card_visa',
};

describe('The client', () => {
  let shop: Shop;
  let network: Forwarder;
  beforeAll(async () => {
    shop = await openShop();
    network = new Forwarder(await freePort(), {
      host: '127.0.0.1',
      port: Number(new URL(shop.api.url).port),
    });
    await network.start();
  });
  afterAll(async () => {
    await network.stop();
    await shop.close();
  });
  afterEach(async () => {
    Object.assign(network, { silent: false, lostAnswers: 0, lostAfter: 0 });
    await shop.provider.clearFaults();
  });

  /** No time passes where the client waits: `meanwhile` does what would have happened. */
  const clientOf = (options: Partial<CheckoutClientOptions> = {}, meanwhile?: () => unknown) =>
    createCheckoutClient({
      baseUrl: `http://127.0.0.1:${network.port}`,
      apiKey: ACME.key,
      clock: new FakeClock(undefined, meanwhile),
      ...options,
    });
  const checkout = (key: string, client = clientOf(), changes: Partial<typeof BODY> = {}) =>
    client.POST('/v1/checkouts', {
      params: { header: { 'Idempotency-Key': key } },
      body: { ...BODY, ...changes },
    });
  const keysKnown = async () =>
    (await shop.db.sql<{ key: string }>('SELECT key FROM idempotency_keys')).map(({ key }) => key);

  describe('gets its one charge, although', () => {
    it.each([0, 1, 300])('the answer is lost twice, after %i bytes [CL-1, CL-2]', async (bytes) => {
      Object.assign(network, { lostAnswers: 2, lostAfter: bytes });
      const { data, response } = await checkout(newKey());
      expect([response.status, data?.order.status]).toEqual([201, 'paid']);
      expect(response.headers.get('idempotent-replayed')).toBe('true');
      expect(await shop.chargesOf(data!.order.id)).toMatchObject([{ calls: 1, status: 'succeeded' }]);
    });

    it('nothing listens at first [CL-2]', async () => {
      await network.stop();
      const { data } = await checkout(
        newKey(),
        clientOf({}, () => network.start()),
      );
      expect(await shop.chargesOf(data!.order.id)).toHaveLength(1);
    });

    it('nothing answers until the try has timed out [CL-2]', async () => {
      network.silent = true;
      const clock = new FakeClock(undefined, () => {
        network.silent = false;
      });
      const given: AbortController[] = [];
      clock.timeout = () => {
        given.push(new AbortController());
        return given.at(-1)!.signal;
      };
      const before = network.arrivals;
      const sent = checkout(newKey(), clientOf({ clock }));
      while (network.arrivals === before) await setImmediate();
      given[0]!.abort(new DOMException('The try took too long', 'TimeoutError'));
      const { data } = await sent;
      expect(given.length).toBeGreaterThan(1);
      expect(await shop.chargesOf(data!.order.id)).toHaveLength(1);
    });

    it.each(['error_before', 'error_after', 'drop_before', 'drop_after', 'rate_limit', 'conflict'])(
      'the payment provider is in trouble: %s [CL-2, CL-6]',
      async (kind) => {
        await shop.provider.fault(kind, { times: 2 });
        await shop.provider.fault('search_down', { times: 2 });
        const { data, error } = await checkout(newKey(), clientOf({ maxAttempts: 10 }));
        expect(error).toBeUndefined();
        const made = await shop.chargesOf(data!.order.id);
        expect(made.filter(({ status }) => status === 'succeeded')).toHaveLength(1);
      },
    );

    it('the same key is in use already: it waits for that one [CL-2, CL-3]', async () => {
      const key = newKey();
      const release = await holdLock(shop.db, 'orders');
      const first = checkout(key);
      await waitingForLock(shop.db);
      let waits = 0;
      const second = checkout(
        key,
        clientOf({}, async () => {
          if (waits++ > 0) return;
          await release();
          await first;
        }),
      );
      await Promise.race([second, waitingForLock(shop.db, 2).then(release)]);
      const [one, other] = await Promise.all([first, second]);
      expect([one.response.status, other.response.status]).toEqual([201, 201]);
      expect(other.data).toEqual(one.data);
      expect(await shop.chargesOf(one.data!.order.id)).toHaveLength(1);
    });
  });

  describe('asks once, where asking again would come to the same', () => {
    const asksOnce = async (
      send: (client: ReturnType<typeof clientOf>) => Promise<{ response: Response }>,
    ) => {
      const { response } = await send(
        clientOf({
          onRetry: () => {
            throw new Error('asked again');
          },
        }),
      );
      return response;
    };

    it('a decline, a mistake, a stranger, an unknown order, another request under the key [CL-2, CL-3]', async () => {
      const key = newKey();
      await checkout(key);
      const answers = [
        await asksOnce((client) =>
          checkout(newKey(), client, { paymentMethod: 'pm_card_visa_chargeDeclined' }),
        ),
        await asksOnce((client) => checkout(newKey(), client, { items: [] })),
        await asksOnce(() => checkout(newKey(), clientOf({ apiKey: 'ck_test_nobody' }))),
        await asksOnce((client) => client.GET('/v1/orders/{id}', { params: { path: { id: 'ord_none' } } })),
        await asksOnce((client) => checkout(key, client, { currency: 'usd' })),
      ];
      expect(answers.map(({ status }) => status)).toEqual([402, 400, 401, 404, 422]);
    });

    it('a paid order, as the service says so by Should-Retry [CL-3, CL-7]', async () => {
      const { data } = await checkout(newKey());
      const response = await asksOnce((client) =>
        client.POST('/v1/charges', {
          params: { header: { 'Idempotency-Key': newKey() } },
          body: { orderId: data!.order.id, paymentMethod: 'pm_card_visa' },
        }),
      );
      expect([response.status, response.headers.get('should-retry')]).toEqual([409, 'false']);
      expect(response.headers.has('retry-after')).toBe(false);
    });
  });

  it('is told when to come back: Retry-After and Should-Retry on 503 and on 409 in progress [CL-7]', async () => {
    await shop.provider.fault('error_before', { times: 2 });
    await shop.provider.fault('search_down', { times: 2 });
    const { response } = await checkout(newKey(), clientOf({ maxAttempts: 1 }));
    expect(hints(response)).toEqual([503, 'true', true]);

    const { data } = await checkout(newKey(), clientOf(), { paymentMethod: 'pm_card_threeDSecure2Required' });
    const again = await clientOf({ maxAttempts: 1 }).POST('/v1/charges', {
      params: { header: { 'Idempotency-Key': newKey() } },
      body: { orderId: data!.order.id, paymentMethod: 'pm_card_visa' },
    });
    expect(hints(again.response)).toEqual([409, 'true', true]);
  });

  const hints = ({ status, headers }: Response) => [
    status,
    headers.get('should-retry'),
    Number(headers.get('retry-after')) >= 1,
  ];

  describe('never sends a POST again without a key [CL-8]', () => {
    it('but fails, and says that nobody knows [CL-8]', async () => {
      const { data } = await clientOf().POST('/v1/orders', {
        params: { header: { 'Idempotency-Key': newKey() } },
        body: BODY_OF_ORDER,
      });
      network.lostAnswers = 1;
      const path = { id: data!.id };
      await expect(clientOf().POST('/v1/orders/{id}/cancel', { params: { path } })).rejects.toMatchObject({
        name: 'NoAnswer',
        attempts: 1,
      });
      network.lostAnswers = 1;
      const { data: order } = await clientOf().GET('/v1/orders/{id}', { params: { path } });
      expect(order?.status).toBe('canceled');
    });

    it('but gives it one where the caller forgot, the same for all tries [CL-9]', async () => {
      const before = await keysKnown();
      network.lostAnswers = 2;
      const careless = { params: {}, body: BODY } as never; // as a caller in JavaScript may write it
      const { data } = (await clientOf().POST('/v1/checkouts', careless)) as Awaited<
        ReturnType<typeof checkout>
      >;
      expect(await shop.chargesOf(data!.order.id)).toHaveLength(1);
      expect((await keysKnown()).length - before.length).toBe(1);
    });
  });

  const { paymentMethod: _unpaid, ...BODY_OF_ORDER } = BODY;

  it('pays under a new key after a decline, and under the old one after anything else [CL-5, CL-6]', async () => {
    const externalRef = randomUUID();
    const first = newKey();
    const { error, response } = await checkout(first, clientOf(), {
      paymentMethod: 'pm_card_visa_chargeDeclined',
      externalRef,
    } as never);
    const second = nextKey(first, { error, response });
    expect(second).not.toBe(first);
    const paid = await clientOf().POST('/v1/charges', {
      params: { header: { 'Idempotency-Key': second } },
      body: { orderId: (error as { orderId: string }).orderId, paymentMethod: 'pm_card_visa' },
    });
    expect(paid.data?.status).toBe('succeeded');
    expect(nextKey(second, paid)).toBe(second);
  });

  describe('in a batch', () => {
    /** Durable as the test's database is; what a batch would have in a table of its own. */
    class NumbersInPostgres implements AttemptNumbers {
      async current({ businessId, step }: { businessId: string; step: string }): Promise<number> {
        await shop.db.sql('INSERT INTO attempt_numbers VALUES ($1, 1) ON CONFLICT DO NOTHING', [
          `${businessId}:${step}`,
        ]);
        const [row] = await shop.db.sql<{ n: number }>('SELECT n FROM attempt_numbers WHERE step = $1', [
          `${businessId}:${step}`,
        ]);
        return row!.n;
      }

      async raise({ businessId, step }: { businessId: string; step: string }, from: number): Promise<void> {
        await shop.db.sql('UPDATE attempt_numbers SET n = n + 1 WHERE step = $1 AND n = $2', [
          `${businessId}:${step}`,
          from,
        ]);
      }
    }
    const numbers = new NumbersInPostgres();
    beforeAll(() => shop.db.sql('CREATE TABLE attempt_numbers (step text PRIMARY KEY, n integer NOT NULL)'));

    it('declined, the number raised, and paid; run again, it is paid still, and once [CL-1, CL-5]', async () => {
      const { data: order } = await clientOf().POST('/v1/orders', {
        params: { header: { 'Idempotency-Key': newKey() } },
        body: BODY_OF_ORDER,
      });
      const step = { businessId: `invoice-${randomUUID()}`, step: 'pay' };
      const run = (paymentMethod: string) =>
        sendInBatch(numbers, step, (key) =>
          clientOf().POST('/v1/charges', {
            params: { header: { 'Idempotency-Key': key } },
            body: { orderId: order!.id, paymentMethod },
          }),
        );
      network.lostAnswers = 1;
      expect((await run('pm_card_visa_chargeDeclined')).response.status).toBe(402);
      network.lostAnswers = 1;
      const paid = await run('pm_card_visa');
      const again = await run('pm_card_visa');
      expect([paid.data?.status, again.data]).toEqual(['succeeded', paid.data]);
      expect(await keysKnown()).toEqual(expect.arrayContaining([batchKey(step, 1), batchKey(step, 2)]));
      expect(await keysKnown()).not.toContain(batchKey(step, 3));
      const made = await shop.chargesOf(order!.id);
      expect(made.map(({ status }) => status).sort()).toEqual(['failed', 'succeeded']);
    });

    it('that dies before its answer comes, it gets that answer when it is run again [CL-6]', async () => {
      const step = { businessId: `invoice-${randomUUID()}`, step: 'pay' };
      const run = (options?: Partial<CheckoutClientOptions>) =>
        sendInBatch(numbers, step, (key) => checkout(key, clientOf(options)));
      network.lostAnswers = 1;
      await expect(run({ maxAttempts: 1 })).rejects.toMatchObject({
        name: 'NoAnswer',
        idempotencyKey: batchKey(step, 1),
      });
      const { data, response } = await run();
      expect(response.headers.get('idempotent-replayed')).toBe('true');
      expect(await shop.chargesOf(data!.order.id)).toHaveLength(1);
    });
  });

  it('knows for how long keys are kept, as the service publishes it [CL-4]', () => {
    const described = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));
    expect(described['x-idempotency-key'].retentionHours).toBe(PUBLISHED_RETENTION_HOURS);
  });

  it('leaves books that agree', async () => {
    await expectLedgersAgree(shop.db, shop.provider);
  });
});
