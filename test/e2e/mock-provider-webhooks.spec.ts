import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import Stripe from 'stripe';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { call, PAY, type Form } from '../support/stripe-wire.js';
import { authenticate, SECRET } from '../support/webhooks.js';

interface Received {
  readonly event: Stripe.Event;
  readonly signature: string;
  readonly at: number;
}

describe("The mock provider's webhooks", () => {
  let mock: MockProvider;
  let endpoint: Server;
  let received: Received[] = [];
  /** What the endpoint answers next; 204 once they are used up. */
  let answers: number[] = [];

  beforeAll(async () => {
    endpoint = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const signature = request.headers['stripe-signature'] as string;
        const event = Stripe.webhooks.constructEvent(Buffer.concat(chunks), signature, SECRET);
        received.push({ event, signature, at: performance.now() });
        response.writeHead(answers.shift() ?? 204).end();
      });
    });
    endpoint.listen(0, '127.0.0.1');
    await once(endpoint, 'listening');
    mock = await startMockProvider();
    const { port } = endpoint.address() as AddressInfo;
    const registered = await fetch(`${mock.url}/_webhook_endpoint`, {
      method: 'PUT',
      body: JSON.stringify({ url: `http://127.0.0.1:${port}/`, secret: SECRET }),
    });
    expect(registered.status).toBe(204);
  });
  afterAll(async () => {
    await mock.stop();
    endpoint.closeAllConnections();
    endpoint.close();
  });
  afterEach(async () => {
    await mock.clearFaults();
    received = [];
    answers = [];
  });

  const pay = async (form: Form = {}) =>
    (await call(`${mock.url}/v1/payment_intents`, { ...PAY, ...form })).body;
  const types = () => received.map(({ event }) => event.type);
  const ids = () => received.map(({ event }) => event.id);

  async function arrived(count: number): Promise<void> {
    for (let tries = 0; received.length < count; tries++) {
      if (tries === 500) throw new Error(`${received.length} of ${count} events arrived: ${types().join()}`);
      await sleep(10);
    }
  }

  it('tell of each state of a payment, as it was then', async () => {
    await pay();
    await pay({ payment_method: 'pm_card_chargeDeclined' });
    await pay({ payment_method: 'pm_usBankAccount_processing' });
    const { id } = await pay({
      payment_method: 'pm_card_authenticationRequired',
      return_url: 'http://back/',
    });
    await authenticate(mock, id, 'succeed');
    const abandoned = await pay({ payment_method: 'pm_card_authenticationRequired' });
    await call(`${mock.url}/v1/payment_intents/${String(abandoned['id'])}/cancel`, {});
    await arrived(7);
    expect(types().sort()).toEqual([
      'payment_intent.canceled',
      'payment_intent.payment_failed',
      'payment_intent.processing',
      'payment_intent.requires_action',
      'payment_intent.requires_action',
      'payment_intent.succeeded',
      'payment_intent.succeeded',
    ]);
    const told = received.filter(({ event }) => (event.data.object as { id: string }).id === id);
    const states = told.map(({ event }) => (event.data.object as { status: string }).status);
    expect(states.sort()).toEqual(['requires_action', 'succeeded']); // events overtake each other
  });

  it('tell of refunds that are made, arrive, and come back', async () => {
    for (const payment_method of ['pm_card_pendingRefund', 'pm_card_refundFail']) {
      const { id } = await pay({ payment_method });
      const refund = await call(`${mock.url}/v1/refunds`, { payment_intent: String(id) });
      await fetch(`${mock.url}/_settle/${String(refund.body['id'])}`, { method: 'POST' });
    }
    await arrived(6);
    expect(
      types()
        .filter((type) => type.startsWith('refund'))
        .sort(),
    ).toEqual(['refund.created', 'refund.created', 'refund.failed', 'refund.updated']);
  });

  it('tell of nothing twice: neither a replay nor a call that changes nothing is news', async () => {
    for (let times = 0; times < 3; times++)
      await call(`${mock.url}/v1/payment_intents`, PAY, { 'Idempotency-Key': 'one' });
    await pay();
    await arrived(2);
    await sleep(50);
    expect(types()).toHaveLength(2);
  });

  it('come again until they are taken, under the same id and a signature of the moment', async () => {
    answers = [500, 302];
    await pay();
    await arrived(3);
    expect(new Set(ids()).size).toBe(1);
    expect(new Set(received.map(({ signature }) => signature)).size).toBe(3);
  });

  describe('on demand', () => {
    it('are dropped', async () => {
      await mock.fault('webhook_drop');
      await pay();
      await pay({ payment_method: 'pm_usBankAccount_processing' });
      await arrived(1);
      await sleep(50);
      expect(types()).toEqual(['payment_intent.processing']);
    });

    it('come twice, under one id', async () => {
      await mock.fault('webhook_duplicate');
      await pay();
      await arrived(2);
      expect(new Set(ids()).size).toBe(1);
    });

    it('come late', async () => {
      await mock.fault('webhook_delay', { delayMs: 300 });
      const before = performance.now();
      await pay();
      await arrived(1);
      expect(received[0]!.at - before).toBeGreaterThanOrEqual(290);
    });

    it('are overtaken by the next one, or come by themselves where there is none', async () => {
      await mock.fault('webhook_reorder', { delayMs: 5_000 });
      await pay();
      await pay({ payment_method: 'pm_usBankAccount_processing' });
      await arrived(2);
      expect(types()).toEqual(['payment_intent.processing', 'payment_intent.succeeded']);
      await mock.fault('webhook_reorder', { delayMs: 100 });
      await pay();
      await arrived(3);
    });

    it('leave the calls alone that brought them about', async () => {
      for (const kind of ['webhook_drop', 'webhook_duplicate', 'webhook_reorder'])
        await mock.fault(kind, { times: 1, delayMs: 1 });
      for (let times = 0; times < 3; times++) expect(await pay()).toMatchObject({ status: 'succeeded' });
    });
  });

  it('make no answer slower, however long their receiver takes', async () => {
    endpoint.removeAllListeners('request');
    const before = performance.now();
    await Promise.all(Array.from({ length: 50 }, () => pay()));
    expect(performance.now() - before).toBeLessThan(2_000); // each of the receivers would have waited for ten seconds
  });
});
