import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { checkoutBody, post } from '../support/checkout.js';
import { ACME } from '../support/start-api.js';
import { startSystem, type System } from '../support/start-system.js';

/** A whole request must have arrived after 15 s, and is looked at every 5. */
const ENDED_WITHIN_MS = 22_000;
const CLIENTS = 200;

const HEAD = `POST /v1/checkouts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ACME.key}\r\n`;
const BEFORE_BODY = 'Idempotency-Key: slow\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n';

describe('Clients that send a byte a second', () => {
  let system: System;
  const clients: { socket: Socket; text: string; drip: NodeJS.Timeout }[] = [];
  beforeAll(async () => void (system = await startSystem()));
  afterAll(async () => {
    for (const { socket, drip } of clients) {
      clearInterval(drip);
      socket.destroy();
    }
    await system.stop();
  });

  it.each([
    ['of their headers', HEAD, 'X'],
    ['of their bodies', HEAD + BEFORE_BODY, ' '],
  ])(
    'are told 408 and let go of, %s; others are served meanwhile',
    async (_name, beginning, byte) => {
      const began = performance.now();
      const { hostname, port } = new URL(system.apis[0]!.url);
      const gone = Array.from({ length: CLIENTS }, async () => {
        const socket = connect(Number(port), hostname);
        const client = { socket, text: '', drip: setInterval(() => socket.write(byte), 1_000) };
        clients.push(client);
        socket.on('error', () => undefined);
        socket.on('data', (chunk) => (client.text += chunk.toString()));
        socket.write(beginning);
        await once(socket, 'close');
        clearInterval(client.drip);
        return client.text;
      });
      for (let served = 0; served < 20; served++)
        expect((await post(`${system.apis[0]!.url}/v1/checkouts`, checkoutBody())).status).toBe(201);
      expect(performance.now() - began).toBeLessThan(10_000); // none of them has been let go of yet
      for (const text of await Promise.all(gone))
        expect(text).toMatch(/^HTTP\/1.1 408 [^]*"request_timeout"/);
      expect(performance.now() - began).toBeLessThan(ENDED_WITHIN_MS);
      const [row] = await system.database.sql(
        "SELECT count(*)::int FROM idempotency_keys WHERE key = 'slow'",
      );
      expect(row).toEqual({ count: 0 });
    },
    40_000,
  );
});
