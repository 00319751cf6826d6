import fc from 'fast-check';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { ChargeRequest } from '../../../src/payments/payment-provider.js';
import { freePort } from '../../support/free-port.js';
import { adapterAt, chargeRequest, keyOf, refundRequest } from './adapter.js';

/** A provider that answers as it is told, and counts the calls that reach it. */
let server: Server;
let url: string;
let misbehave: RequestListener;
let calls: { key?: string; body: string }[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      calls.push({ key: request.headers['idempotency-key'] as string, body });
      misbehave(request, response);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  calls = [];
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function answer(status: number, body: unknown, headers: Record<string, string> = {}): void {
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  misbehave = (_request, response) => response.writeHead(status, headers).end(bytes);
}

const chargeAt = (base: string, request: ChargeRequest = chargeRequest(), timeoutSeconds = 5) =>
  adapterAt(base, { timeoutSeconds }).charge(request, keyOf(request));

const chargeInHaste = () => chargeAt(url, chargeRequest(), 0.5);

const TOO_LATE = { status: 'unknown', reason: 'no answer within 500 ms', away: true };

const stripeError = (error: object) => ({
  error: { type: 'invalid_request_error', message: 'No.', ...error },
});

const intentOf = ({ amount, currency, ...ids }: ChargeRequest, changes: object = {}) => ({
  id: 'pi_1',
  object: 'payment_intent',
  status: 'succeeded',
  amount,
  amount_received: amount,
  currency,
  metadata: { tenant_id: ids.tenantId, order_id: ids.orderId, charge_id: ids.chargeId },
  ...changes,
});

describe('A call that was never sent', () => {
  it('is not_acted where the connection is refused [E-5]', async () => {
    expect(await chargeAt(`http://127.0.0.1:${await freePort()}`)).toMatchObject({
      status: 'not_acted',
      reason: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('is not_acted where the name is not known [E-5]', async () => {
    expect(await chargeAt('http://provider.invalid')).toMatchObject({ status: 'not_acted' });
  });

  it('is not_acted where no secure connection comes about [E-5]', async () => {
    misbehave = (_request, response) => response.end();
    expect(await chargeAt(url.replace('http', 'https'))).toMatchObject({ status: 'not_acted' });
    expect(calls).toEqual([]);
  });
});

describe('A call whose answer is lost', () => {
  it('is unknown after a reset, and was sent once: the SDK must not send it again [E-4] [E-5]', async () => {
    misbehave = (request) => request.socket.resetAndDestroy();
    expect(await chargeAt(url)).toMatchObject({ status: 'unknown' });
    expect(calls).toHaveLength(1);
  });

  it('is unknown after a reset of a connection that had served before [E-5]', async () => {
    const request = chargeRequest();
    const payments = adapterAt(url);
    answer(200, intentOf(request));
    expect(await payments.charge(request, 'warm')).toMatchObject({ status: 'succeeded' });
    misbehave = ({ socket }) => socket.resetAndDestroy();
    expect(await payments.charge(request, 'warm')).toMatchObject({ status: 'unknown' });
    expect(calls).toHaveLength(2);
  });

  it('is unknown when nothing comes back in time [E-4]', async () => {
    misbehave = () => undefined;
    expect(await chargeInHaste()).toEqual(TOO_LATE);
    expect(calls).toHaveLength(1);
  });

  it('is unknown when the answer drips past the deadline [E-4]', async () => {
    misbehave = (_request, response) => {
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    };
    expect(await chargeInHaste()).toEqual(TOO_LATE);
  });

  it('is unknown when the connection breaks in the middle of the answer [E-4]', async () => {
    misbehave = (_request, response) => {
      response.writeHead(200, { 'Content-Length': '1000' });
      response.write('{"id":"pi_1","object":"payment_intent",', () => response.destroy());
    };
    expect(await chargeAt(url)).toMatchObject({ status: 'unknown' });
    expect(calls).toHaveLength(1);
  });
});

describe('An answer that is not the provider’s own word', () => {
  const cases: [name: string, status: number, body: unknown, headers: Record<string, string>][] = [
    ['a page with 200', 200, '<html>Welcome to our hotel</html>', {}],
    ['a page with 502', 502, '<html>Bad gateway</html>', {}],
    ['a page with 402', 402, '<html>Payment required</html>', {}],
    ['a page with 400', 400, '<html>Bad request</html>', {}],
    ['JSON cut short', 200, '{"id":"pi_1","object":"payment_', {}],
    ['nothing', 200, '', {}],
    ['null', 200, 'null', {}],
    ['a text', 200, '"succeeded"', {}],
    ['a list', 200, [{ status: 'succeeded' }], {}],
    ['an empty object', 200, {}, {}],
    ['another object', 200, { id: 'cus_1', object: 'customer', status: 'succeeded' }, {}],
    ['ten megabytes', 200, Buffer.alloc(10 * 1024 * 1024, ' '), {}],
    ['compressed bytes', 200, gzipSync('{"status":"succeeded"}'), { 'Content-Encoding': 'gzip' }],
    ['an error without words', 500, {}, {}],
    ['an error in words only', 402, { error: 'card_declined' }, {}],
    ['an error with 200', 200, stripeError({ type: 'card_error', code: 'card_declined' }), {}],
    ['a redirect', 302, '', { Location: 'http://127.0.0.1:1/' }],
    ['a 500', 500, stripeError({ type: 'api_error' }), {}],
    ['a 503', 503, stripeError({ type: 'api_error' }), {}],
    ['a 424', 424, stripeError({ type: 'api_error' }), {}],
    ['a 409', 409, stripeError({ code: 'idempotency_key_in_use' }), {}],
  ];

  it.each(cases)(
    '%s settles nothing: unknown, sent once [E-4] [P-7] [P-8]',
    async (_name, status, body, headers) => {
      answer(status, body, headers);
      expect(await chargeAt(url)).toMatchObject({ status: 'unknown' });
      expect(calls).toHaveLength(1);
    },
  );

  it('never pays: whatever comes back, nothing is succeeded unless it says so of this charge', async () => {
    const request = chargeRequest();
    const payments = adapterAt(url);
    const almost = (right: unknown) =>
      fc.oneof({ weight: 20, arbitrary: fc.constant(right) }, fc.jsonValue());
    const right = Object.entries(intentOf(request)).map(([name, value]) => [name, almost(value)] as const);
    const noise: Record<string, fc.Arbitrary<unknown>> = {
      error: fc.jsonValue(),
      next_action: fc.jsonValue(),
      last_payment_error: fc.jsonValue(),
    };
    const requiredKeys = right.map(([name]) => name);
    const intents = fc.record({ ...Object.fromEntries(right), ...noise }, { requiredKeys });
    const statuses = fc.constantFrom(200, 201, 302, 400, 401, 402, 404, 409, 429, 500, 503);
    let paid = 0;
    await fc.assert(
      fc.asyncProperty(
        statuses,
        fc.oneof({ weight: 4, arbitrary: intents }, fc.jsonValue()),
        async (status, body) => {
          answer(status, JSON.stringify(body));
          const outcome = await payments.charge(request, 'any');
          if (outcome.status !== 'succeeded') return;
          paid += 1;
          expect([200, 201]).toContain(status);
          expect(body).toMatchObject(intentOf(request, { id: outcome.providerId }));
        },
      ),
      { numRuns: 1000 },
    );
    expect(paid).toBeGreaterThan(0);
  });
});

describe('A refusal in the provider’s own words', () => {
  it.each([401, 403, 429])('with %d did not act [P-7]', async (status) => {
    answer(status, stripeError({}));
    expect(await chargeAt(url)).toMatchObject({ status: 'not_acted' });
  });

  it('with 404 did not act where the URL is wrong, and is final where an object is missing', async () => {
    answer(404, stripeError({}));
    expect(await chargeAt(url)).toMatchObject({ status: 'not_acted' });
    answer(404, stripeError({ code: 'resource_missing', param: 'payment_method' }));
    expect(await chargeAt(url)).toMatchObject({ status: 'rejected', failure: { param: 'paymentMethod' } });
  });

  it.each([
    ['payment_method', 'paymentMethod'],
    ['amount', 'amount'],
    ['currency', 'currency'],
    ['metadata[order_id]', undefined],
  ])('with 400 rejects, and names %s as %s', async (param, ours) => {
    answer(400, stripeError({ code: 'bad', param }));
    const outcome = await chargeAt(url);
    expect(outcome).toMatchObject({ status: 'rejected', failure: { code: 'bad', message: 'No.' } });
    expect('failure' in outcome && outcome.failure?.param).toBe(ours);
  });

  it('with idempotency_error contradicts us', async () => {
    answer(400, stripeError({ type: 'idempotency_error' }));
    expect(await chargeAt(url)).toMatchObject({ status: 'contradicted' });
  });

  it('with 402 declines, for good [P-8]', async () => {
    answer(402, stripeError({ type: 'card_error', code: 'card_declined', decline_code: 'lost_card' }));
    expect(await chargeAt(url)).toEqual({
      status: 'declined',
      failure: { code: 'card_declined', declineCode: 'lost_card', message: 'No.' },
    });
  });

  it('with a replayed 500 is unknown, and asking again is no use [P-8]', async () => {
    answer(500, stripeError({ type: 'api_error' }), { 'Idempotent-Replayed': 'true' });
    expect(await chargeAt(url)).toMatchObject({ status: 'unknown', replayed: true });
  });

  it('of a look-up says nothing about the charge', async () => {
    for (const [status, error] of [
      [400, {}],
      [402, { type: 'card_error' }],
      [401, {}],
      [404, { code: 'resource_missing' }],
    ] as const) {
      answer(status, stripeError(error));
      expect(await adapterAt(url).findCharge(chargeRequest())).toMatchObject({ status: 'unknown' });
      expect(await adapterAt(url).findRefund(refundRequest('pi_1'))).toMatchObject({ status: 'unknown' });
    }
  });
});

describe('What speaks of the provider’s health', () => {
  const away = async (status: number, body: unknown, headers = {}) => {
    answer(status, body, headers);
    const outcomes = [await chargeAt(url), await adapterAt(url).findCharge(chargeRequest())];
    return outcomes.map((outcome) => ('away' in outcome ? outcome.away : false));
  };

  it('is a 5xx, a page, or no answer at all', async () => {
    for (const status of [500, 502, 503, 504])
      expect(await away(status, stripeError({ type: 'api_error' }))).toEqual([true, true]);
    expect(await away(502, '<html>Bad gateway</html>')).toEqual([true, true]);
    expect(await chargeAt(`http://127.0.0.1:${await freePort()}`)).toMatchObject({ away: true });
    misbehave = (request) => request.socket.resetAndDestroy();
    expect(await chargeAt(url)).toMatchObject({ away: true });
  });

  it('is no decline, no refusal, no rate limit and no wrong key', async () => {
    expect(await away(402, stripeError({ type: 'card_error' }))).toEqual([false, false]);
    for (const status of [400, 401, 403, 404, 409, 424, 429])
      expect(await away(status, stripeError({}))).toEqual([false, false]);
    expect(await away(400, stripeError({ type: 'idempotency_error' }))).toEqual([false, false]);
    const replayed = { 'Idempotent-Replayed': 'true' };
    expect(await away(500, stripeError({ type: 'api_error' }), replayed)).toEqual([false, false]);
    expect(await away(200, { object: 'list', data: [] })).toEqual([false, false]);
  });
});

describe('An answer that asks us to stay away', () => {
  const cases: [name: string, status: number, body: unknown, outcome: string][] = [
    ['a 429', 429, stripeError({}), 'not_acted'],
    ['a 400 of the rate limit', 400, stripeError({ code: 'rate_limit' }), 'not_acted'],
    ['a 503', 503, stripeError({ type: 'api_error' }), 'unknown'],
    ['a page with 503', 503, '<html>Back soon</html>', 'unknown'],
  ];

  it.each(cases)('says for how long: %s', async (_name, status, body, outcome) => {
    answer(status, body, { 'Retry-After': '17' });
    expect(await chargeAt(url)).toMatchObject({ status: outcome, retryAfterSeconds: 17 });
    expect(await adapterAt(url).findCharge(chargeRequest())).toMatchObject({ retryAfterSeconds: 17 });
    answer(status, body, { 'Retry-After': 'soon' });
    expect(await chargeAt(url)).not.toHaveProperty('retryAfterSeconds');
  });
});

describe('An answer about something else', () => {
  const request = chargeRequest();
  const ids = intentOf(request).metadata;

  it.each([
    ['amount', { amount: 1 }],
    ['amount_received', { amount_received: 1 }],
    ['currency', { currency: 'usd' }],
    ['charge_id', { metadata: { ...ids, charge_id: 'ch_other' } }],
    ['order_id', { metadata: { ...ids, order_id: 'ord_other' } }],
    ['tenant_id', { metadata: { ...ids, tenant_id: 'globex' } }],
    ['charge_id', { metadata: null }],
    ['requires_capture', { status: 'requires_capture' }],
    ['a redirect', { status: 'requires_action', next_action: { type: 'use_stripe_sdk' } }],
  ])('is contradicted, and says why: %s', async (why, changes) => {
    answer(200, intentOf(request, changes));
    expect(await chargeAt(url, request)).toMatchObject({
      status: 'contradicted',
      reason: expect.stringContaining(why),
    });
  });

  it('is contradicted in a decline as well', async () => {
    for (const changes of [{ amount: 1 }, { status: 'succeeded' }, { status: 'requires_action' }]) {
      answer(402, stripeError({ type: 'card_error', payment_intent: intentOf(request, changes) }));
      expect(await chargeAt(url, request)).toMatchObject({ status: 'contradicted' });
    }
  });

  it('is contradicted in a refund as well', async () => {
    const refund = refundRequest('pi_1');
    const right = {
      id: 're_1',
      object: 'refund',
      status: 'succeeded',
      amount: refund.amount,
      currency: refund.currency,
      payment_intent: 'pi_1',
      metadata: { tenant_id: refund.tenantId, refund_id: refund.refundId },
    };
    answer(200, right);
    expect(await adapterAt(url).refund(refund, 'k')).toMatchObject({ status: 'succeeded' });
    for (const changes of [{ amount: 1 }, { payment_intent: 'pi_2' }, { metadata: {} }]) {
      answer(200, { ...right, ...changes });
      expect(await adapterAt(url).refund(refund, 'k')).toMatchObject({ status: 'contradicted' });
    }
  });

  it.each(['requires_confirmation', 'requires_payment_method', 'a_status_of_tomorrow'])(
    'is unknown where the payment is still %s: its call may be running',
    async (status) => {
      answer(200, intentOf(request, { status }));
      expect(await chargeAt(url, request)).toMatchObject({ status: 'unknown' });
    },
  );

  it('is a cancel that frees the order where the payment was canceled', async () => {
    answer(200, intentOf(request, { status: 'canceled' }));
    expect(await chargeAt(url, request)).toEqual({ status: 'canceled', providerId: 'pi_1' });
  });
});

describe('The same frozen request', () => {
  it('is sent in the same bytes by every process, in whatever order its members were stored [P-3]', async () => {
    const request = chargeRequest();
    const shuffled = Object.fromEntries(Object.entries(request).reverse()) as unknown as ChargeRequest;
    answer(200, intentOf(request));
    await adapterAt(url).charge(request, keyOf(request));
    await adapterAt(url).charge(shuffled, keyOf(request));
    expect(calls[1]).toEqual(calls[0]);
    expect(calls[0]!.key).toBe(keyOf(request));
  });

  it('tells the provider our ids [P-11]', async () => {
    const request = chargeRequest();
    answer(200, intentOf(request));
    await chargeAt(url, request);
    const sent = new URLSearchParams(calls[0]!.body);
    expect(sent.get('metadata[charge_id]')).toBe(request.chargeId);
    expect(sent.get('metadata[order_id]')).toBe(request.orderId);
    expect(sent.get('metadata[tenant_id]')).toBe(request.tenantId);
  });
});
