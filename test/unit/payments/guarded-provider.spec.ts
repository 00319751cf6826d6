import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Metrics } from '../../../src/metrics/metrics.js';
import { CircuitBreaker } from '../../../src/payments/circuit-breaker.js';
import { GuardedProvider } from '../../../src/payments/guarded-provider.js';
import { ProviderMetrics } from '../../../src/payments/provider-metrics.js';
import { adapterAt, chargeRequest, refundRequest } from './adapter.js';

describe('A provider that is away', () => {
  let server: Server;
  let received = 0;
  let payments: GuardedProvider;

  beforeAll(async () => {
    server = createServer((_request, response) => {
      received += 1;
      response.writeHead(503).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const breaker = new CircuitBreaker({ failures: 2, openSeconds: 60 });
    payments = new GuardedProvider(adapterAt(url), breaker, new ProviderMetrics(new Metrics(), breaker));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('is not asked any more: what changes something was not sent, and what looks has not seen', async () => {
    const [charge, refund] = [chargeRequest(), refundRequest('pi_1')];
    for (let n = 0; n < 2; n++)
      expect(await payments.charge(charge, 'k')).toMatchObject({ status: 'unknown' });
    expect(received).toBe(2);

    for (const call of [
      payments.charge(charge, 'k'),
      payments.cancelCharge(charge, 'pi_1'),
      payments.refund(refund, 'k'),
    ])
      expect(await call).toEqual(nothing('not_acted'));
    for (const lookUp of [
      payments.findCharge(charge),
      payments.retrieveCharge(charge, 'pi_1'),
      payments.findRefund(refund),
      payments.retrieveRefund(refund, 're_1'),
    ])
      expect(await lookUp).toEqual(nothing('unknown')); // above all not `absent`: nobody looked
    expect(() => payments.list(new Date(0))).toThrow('the provider is away');
    expect(received).toBe(2);
  });

  const nothing = (status: string) => ({
    status,
    reason: 'the provider is away: not asked',
    retryAfterSeconds: expect.any(Number),
  });
});
