import { connect, createServer, type AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { freePort } from '../test/support/free-port.js';
import { ACME, environment } from '../test/support/start-api.js';
import { CHECKOUT } from './contenders.js';
import { Program } from './process.js';
import type { BenchDatabase, Stage } from './stage.js';

const CHECKOUTS = 50;

/**
 * How often a checkout waits for the database: on each connection, how often bytes went there after bytes had come back.
 * Counted by a proxy in a run of its own, one checkout after the other.
 */
export async function roundTrips(stage: Stage, database: BenchDatabase): Promise<number> {
  let flights = 0;
  const { hostname, port, pathname } = new URL(database.url);
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname);
    let outward = false;
    client.on('data', () => {
      if (!outward) flights += 1;
      outward = true;
    });
    server.on('data', () => (outward = false));
    client.pipe(server).pipe(client);
    for (const socket of [client, server]) socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const through = `postgres://postgres:postgres@127.0.0.1:${(proxy.address() as AddressInfo).port}${pathname}`;
  const settings = {
    databaseUrl: through,
    providerUrl: stage.providerUrl,
    ROLE: 'api',
    PROVIDER_KEY_PREFIX: 'ours',
  };
  const program = await Program.start(['dist/src/main.js'], environment(settings), await freePort());
  for (let n = 0; n < 5; n++) await checkOut(program.url); // prepares the statements
  flights = 0;
  for (let n = 0; n < CHECKOUTS; n++) await checkOut(program.url);
  const counted = flights / CHECKOUTS;
  await program.stop();
  proxy.close();
  return counted;
}

async function checkOut(url: string): Promise<void> {
  const answer = await fetch(`${url}/v1/checkouts`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${ACME.key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': randomUUID(),
    },
    body: CHECKOUT,
  });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
}
