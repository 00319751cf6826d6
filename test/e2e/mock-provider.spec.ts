import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { call, PAY, type Form } from '../support/stripe-wire.js';

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()));
}

describe('The mock provider', () => {
  let mock: MockProvider;
  beforeAll(async () => {
    mock = await startMockProvider();
  });
  afterAll(() => mock.stop());
  afterEach(() => mock.clearFaults());

  let keys = 0;
  const newKey = () => `wire-${(keys += 1)}`;
  const post = (path: string, form: Form, key?: string) =>
    call(`${mock.url}/v1/${path}`, form, key === undefined ? {} : { 'Idempotency-Key': key });
  const get = (path: string) => call(`${mock.url}/v1/${path}`);
  const create = async (form: Form) =>
    (await post('payment_intents', { ...PAY, ...form })).body as { id: string };

  describe('has the states of a payment intent', () => {
    it.each([
      ['requires_payment_method', { confirm: 'false', payment_method: '' }],
      ['requires_confirmation', { confirm: 'false' }],
      ['requires_action', { payment_method: 'pm_card_authenticationRequired' }],
      ['processing', { payment_method: 'pm_usBankAccount_processing' }],
      ['requires_capture', { capture_method: 'manual' }],
      ['succeeded', {}],
    ])('%s [ST-1]', async (status, form) => {
      expect(await create(form as Form)).toMatchObject({ object: 'payment_intent', status });
    });

    it('and goes back to requires_payment_method after a decline, with 402 and the reason [ST-2]', async () => {
      const { status, body } = await post('payment_intents', {
        ...PAY,
        payment_method: 'pm_card_chargeDeclined',
      });
      const error = { type: 'card_error', code: 'card_declined', decline_code: 'generic_decline' };
      expect(status).toBe(402);
      expect(body['error']).toMatchObject({
        ...error,
        payment_intent: { status: 'requires_payment_method', last_payment_error: error },
      });
    });

    it('and takes another card after a decline [ST-2]', async () => {
      const declined = await post('payment_intents', { ...PAY, payment_method: 'pm_card_chargeDeclined' });
      const { id } = (declined.body['error'] as { payment_intent: { id: string } }).payment_intent;
      const { body } = await post(`payment_intents/${id}/confirm`, { payment_method: 'pm_card_visa' });
      expect(body).toMatchObject({ id, status: 'succeeded', last_payment_error: null });
    });

    it.each<Form>([
      { confirm: 'false', payment_method: '' },
      { confirm: 'false' },
      { payment_method: 'pm_card_authenticationRequired' },
      { capture_method: 'manual' },
    ])('and can be canceled before it has gone through: %j [ST-3]', async (form) => {
      const { id } = await create(form);
      const { body } = await post(`payment_intents/${id}/cancel`, { cancellation_reason: 'abandoned' });
      expect(body).toMatchObject({ id, status: 'canceled', cancellation_reason: 'abandoned' });
    });

    it('and cannot be canceled once it has succeeded, is canceled or processing [ST-3]', async () => {
      const canceled = await create({ confirm: 'false' });
      await post(`payment_intents/${canceled.id}/cancel`, {});
      const processing = await create({ payment_method: 'pm_usBankAccount_processing' });
      for (const { id } of [await create({}), canceled, processing]) {
        expect(await post(`payment_intents/${id}/cancel`, {})).toMatchObject({
          status: 400,
          body: { error: { type: 'invalid_request_error', code: 'payment_intent_unexpected_state' } },
        });
      }
    });

    it('and is captured up to what was authorized, once [ST-4]', async () => {
      const { id } = await create({ capture_method: 'manual' });
      const capture = (amount: string) =>
        post(`payment_intents/${id}/capture`, { amount_to_capture: amount });
      expect(await capture('1001')).toMatchObject({
        status: 400,
        body: { error: { code: 'amount_too_large' } },
      });
      expect((await capture('600')).body).toMatchObject({
        status: 'succeeded',
        amount: 1000,
        amount_received: 600,
      });
      expect(await capture('400')).toMatchObject({ status: 400 });
    });

    it('and knows four reasons to cancel [ST-5]', async () => {
      for (const reason of ['abandoned', 'duplicate', 'fraudulent', 'requested_by_customer']) {
        const { id } = await create({ confirm: 'false' });
        const { body } = await post(`payment_intents/${id}/cancel`, { cancellation_reason: reason });
        expect(body).toMatchObject({ cancellation_reason: reason });
      }
      const { id } = await create({ confirm: 'false' });
      expect(await post(`payment_intents/${id}/cancel`, { cancellation_reason: 'bored' })).toMatchObject({
        status: 400,
        body: { error: { param: 'cancellation_reason' } },
      });
    });
  });

  describe('has idempotency keys', () => {
    it('on confirm, capture, cancel and refund alike [ST-8]', async () => {
      const paid = await create({});
      const unconfirmed = await create({ confirm: 'false' });
      const authorized = await create({ capture_method: 'manual' });
      const open = await create({ confirm: 'false' });
      for (const [path, form] of [
        [`payment_intents/${unconfirmed.id}/confirm`, {}],
        [`payment_intents/${authorized.id}/capture`, {}],
        [`payment_intents/${open.id}/cancel`, {}],
        ['refunds', { payment_intent: paid.id, amount: '100' }],
      ] as [string, Form][]) {
        const key = newKey();
        const [first, second] = [await post(path, form, key), await post(path, form, key)];
        expect(first.status).toBe(200);
        expect(first.headers.get('idempotent-replayed')).toBeNull();
        expect(second).toMatchObject({ status: 200, body: first.body });
        expect(second.headers.get('idempotent-replayed')).toBe('true');
        expect(second.headers.get('original-request')).toBe(first.headers.get('request-id'));
        expect(second.headers.get('request-id')).not.toBe(first.headers.get('request-id'));
      }
    });

    it('that compare parameters, not their order, and the endpoint', async () => {
      const key = newKey();
      await post('payment_intents', PAY, key);
      const reordered = Object.fromEntries(Object.entries(PAY).reverse());
      expect((await post('payment_intents', reordered, key)).headers.get('idempotent-replayed')).toBe('true');
      const reused = { status: 400, body: { error: { type: 'idempotency_error' } } };
      expect(await post('payment_intents', { ...PAY, amount: '1001' }, key)).toMatchObject(reused);
      expect(await post('refunds', PAY, key)).toMatchObject(reused);
    });

    it('that are in use while a call runs', async () => {
      const key = newKey();
      await mock.fault('delay', { delayMs: 500 });
      const slow = post('payment_intents', PAY, key);
      await until(async () =>
        (await mock.ledger()).charges.some(({ idempotencyKey }) => idempotencyKey === key),
      );
      const busy = await post('payment_intents', PAY, key);
      expect(busy).toMatchObject({ status: 409, body: { error: { code: 'idempotency_key_in_use' } } });
      expect(busy.headers.get('stripe-should-retry')).toBe('true');
      expect((await slow).status).toBe(200);
    });

    it('that keep a 402 and a 500, but no 400', async () => {
      const [declined, failed, invalid] = [newKey(), newKey(), newKey()];
      const bad = { ...PAY, payment_method: 'pm_card_chargeDeclined' };
      for (const replayed of [null, 'true']) {
        const answer = await post('payment_intents', bad, declined);
        expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([402, replayed]);
      }
      await mock.fault('error_after');
      for (const replayed of [null, 'true']) {
        const answer = await post('payment_intents', PAY, failed);
        expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([500, replayed]);
        expect(answer.headers.get('stripe-should-retry')).toBe('false');
      }
      expect((await post('payment_intents', { ...PAY, amount: 'x' }, invalid)).status).toBe(400);
      expect((await post('payment_intents', PAY, invalid)).status).toBe(200);
    });

    it('that are not compared between calls without one', async () => {
      expect((await create({})).id).not.toBe((await create({})).id);
    });
  });

  describe('refuses', () => {
    it.each([
      ['amount', { amount: '' }],
      ['amount', { amount: '10.5' }],
      ['amount', { amount: '0' }],
      ['amount', { amount: '-1' }],
      ['amount', { amount: '100000000' }],
      ['currency', { currency: 'euro' }],
      ['payment_method', { payment_method: 'pm_card_nobody' }],
      ['ammount', { ammount: '1' }],
    ])('a wrong %s: %j', async (param, form) => {
      const answer = await post('payment_intents', { ...PAY, ...(form as Form) });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { type: 'invalid_request_error', param } },
      });
    });

    it('who has no API key', async () => {
      const url = `${mock.url}/v1/payment_intents`;
      expect(await call(url, PAY, { Authorization: '' })).toMatchObject({ status: 401 });
      expect(await call(url, undefined, { Authorization: 'Bearer nobody' })).toMatchObject({ status: 401 });
      const basic = `Basic ${Buffer.from('sk_test_curl:').toString('base64')}`;
      expect(await call(url, undefined, { Authorization: basic })).toMatchObject({ status: 200 });
    });

    it('what it does not have', async () => {
      const missing = { status: 404, body: { error: { code: 'resource_missing' } } };
      expect(await get('payment_intents/pi_nobody')).toMatchObject(missing);
      expect(await get('refunds/re_nobody')).toMatchObject(missing);
      expect(await get('customers')).toMatchObject({
        status: 404,
        body: { error: { type: 'invalid_request_error' } },
      });
    });

    it.each([
      { kind: 'webhook_delay', times: 1 },
      { kind: 'earthquake', times: 1 },
      { kind: 'delay', times: 1 },
      { kind: 'down', times: 0 },
      { kind: 'down', times: '2' },
      {},
    ])('the fault %j', async (fault) => {
      const answer = await fetch(`${mock.url}/_faults`, {
        method: 'POST',
        body: JSON.stringify(fault),
        headers: { 'Content-Type': 'application/json' },
      });
      expect(answer.status).toBe(400);
    });
  });

  it('takes a fault as curl -d sends it, whatever its content type says', async () => {
    const answer = await fetch(`${mock.url}/_faults`, {
      method: 'POST',
      body: '{ "kind": "conflict" }',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect(answer.status).toBe(204);
    await mock.clearFaults();
  });

  describe('can be read', () => {
    it('by id, newest first, page by page, and by metadata', async () => {
      const [older, newer] = [await create({ 'metadata[charge_id]': 'ch_read' }), await create({})];
      expect((await get(`payment_intents/${older.id}`)).body).toMatchObject({
        metadata: { charge_id: 'ch_read' },
      });
      const first = await get('payment_intents?limit=1');
      expect(first.body).toMatchObject({ object: 'list', has_more: true, data: [{ id: newer.id }] });
      const next = await get(`payment_intents?limit=1&starting_after=${newer.id}`);
      expect(next.body).toMatchObject({ data: [{ id: older.id }] });
      const query = encodeURIComponent(`metadata['charge_id']:'ch_read'`);
      expect((await get(`payment_intents/search?query=${query}`)).body).toMatchObject({
        object: 'search_result',
        data: [{ id: older.id }],
      });
      expect((await get('payment_intents/search?query=amount>5')).status).toBe(400);
    });

    it('by payment, for refunds', async () => {
      const { id } = await create({});
      const { body: refund } = await post('refunds', {
        payment_intent: id,
        amount: '400',
        reason: 'duplicate',
      });
      expect((await get(`refunds?payment_intent=${id}`)).body).toMatchObject({ data: [refund] });
      expect((await get(`refunds/${String(refund['id'])}`)).body).toEqual(refund);
    });
  });

  describe('shows in its ledger', () => {
    const entriesOf = async (key: string) =>
      (await mock.ledger()).charges.filter(({ idempotencyKey }) => idempotencyKey === key);

    it('one entry per charge, with how many calls its key has had', async () => {
      const key = newKey();
      const form = { ...PAY, 'metadata[order_id]': 'ord_1' };
      await mock.fault('drop_before');
      await expect(post('payment_intents', form, key)).rejects.toThrow();
      await post('payment_intents', form, key);
      await post('payment_intents', form, key);
      expect(await entriesOf(key)).toEqual([
        {
          id: expect.stringMatching(/^pi_/),
          idempotencyKey: key,
          amount: 1000,
          currency: 'eur',
          status: 'succeeded',
          metadata: { order_id: 'ord_1' },
          calls: 3,
          createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        },
      ]);
    });

    it('a decline as failed', async () => {
      const key = newKey();
      await post('payment_intents', { ...PAY, payment_method: 'pm_card_chargeDeclined' }, key);
      expect(await entriesOf(key)).toMatchObject([{ status: 'failed', calls: 1 }]);
    });

    it('nothing of a call that did not act', async () => {
      for (const kind of ['error_before', 'drop_before', 'conflict', 'rate_limit', 'down']) {
        const key = newKey();
        await mock.fault(kind);
        await post('payment_intents', PAY, key).catch(() => undefined);
        expect(await entriesOf(key)).toEqual([]);
      }
    });
  });

  it('fails as many calls as it is told to, in the order it is told', async () => {
    await mock.fault('error_before', { times: 2 });
    await mock.fault('rate_limit');
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await post('payment_intents', PAY)).status);
    expect(statuses).toEqual([500, 500, 429, 200]);
  });

  it('counts a fault where it was met: a decline waits for a charge that is made, and not only asked for again', async () => {
    const counts = async () => {
      const { decline, drop_after, search_down } = await mock.met();
      return { decline, drop_after, search_down };
    };
    const key = newKey();
    await post('payment_intents', PAY, key);
    const before = await counts();
    await mock.fault('decline');
    await mock.fault('search_down', { times: 5 });
    expect((await post('payment_intents', PAY, key)).status).toBe(200);
    expect(await counts()).toEqual(before);
    expect((await post('payment_intents', PAY)).status).toBe(402);
    expect(await counts()).toEqual({ ...before, decline: before.decline + 1 });
    await mock.clearFaults();
  });

  it('shows the customer a page of the bank, and sends the browser back', async () => {
    const form = {
      payment_method: 'pm_card_authenticationRequired',
      return_url: 'https://shop.example/back',
    };
    const { next_action } = (await create(form)) as unknown as {
      next_action: { redirect_to_url: { url: string } };
    };
    const { url } = next_action.redirect_to_url;
    expect(await (await fetch(url)).text()).toContain('value="succeed"');
    const body = new URLSearchParams({ outcome: 'succeed' });
    const back = await fetch(url, { method: 'POST', body, redirect: 'manual' });
    expect([back.status, back.headers.get('location')]).toEqual([303, 'https://shop.example/back']);
  });
});
