import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../src/database/migrate.js';
import { startPostgres, type Postgres } from '../../src/sandbox/postgres.js';
import { asService } from '../support/app-role.js';
import { checkoutBody, post } from '../support/checkout.js';
import { Forwarder } from '../support/forwarder.js';
import { freePort } from '../support/free-port.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { startApi, type StartedApi } from '../support/start-api.js';

/** Nothing listens there: an event is staged, and waits. */
const AMQP_URL = 'amqp://127.0.0.1:9';

/** Transaction ids count for a whole server, so this one is for these tests alone. */
describe('What a request costs the database', () => {
  let folder: string;
  let postgres: Postgres;
  let provider: MockProvider;
  let api: StartedApi;
  /** The same, with events. */
  let telling: StartedApi;
  let client: pg.Client;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'checkout-commits-'));
    postgres = await startPostgres({
      folder: join(folder, 'postgres'),
      port: await freePort(),
      settings: { autovacuum: 'off' },
    });
    const url = postgres.url('postgres');
    await migrate(url, { lease: 30, appUrl: asService(url) });
    provider = await startMockProvider();
    api = await startApi({ databaseUrl: url, providerUrl: provider.url, ROLE: 'api' });
    telling = await startApi({ databaseUrl: url, providerUrl: provider.url, ROLE: 'api', AMQP_URL });
    client = new pg.Client(url);
    await client.connect();
  });
  afterAll(async () => {
    await Promise.all([api.stop(), telling.stop()]);
    await client.end();
    await provider.stop();
    await postgres.stop('immediate');
    await rm(folder, { recursive: true });
  });

  const nextTransactionId = async () => {
    const { rows } = await client.query<{ xmax: string }>(
      'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xmax',
    );
    return BigInt(rows[0]!.xmax);
  };
  const checkout = async (key: string, { url } = api) =>
    (await post(`${url}/v1/checkouts`, checkoutBody(), { key })).status;

  it('is two writing commits for a checkout, and none for a replay [R-5]', async () => {
    const keys = Array.from({ length: 100 }, () => randomUUID());
    const before = await nextTransactionId();
    for (const key of keys) expect(await checkout(key)).toBe(201);
    const between = await nextTransactionId();
    for (const key of keys) expect(await checkout(key)).toBe(201);
    const after = await nextTransactionId();
    expect(between - before).toBe(200n);
    expect(after - between).toBe(0n);
  });

  it('is one execution of a request that is captured and sent a thousand times, and no write for the others', async () => {
    const before = await nextTransactionId();
    const key = randomUUID();
    const captured = checkoutBody();
    const send = () => post(`${api.url}/v1/checkouts`, captured, { key });
    const { status, text } = await send();
    expect(status).toBe(201);
    expect((await nextTransactionId()) - before).toBe(2n);
    const { charges } = await provider.ledger();
    for (let sent = 0; sent < 1_000; sent += 20) {
      const answers = await Promise.all(Array.from({ length: 20 }, send));
      expect(answers.filter((answer) => answer.status !== 201 || answer.text !== text)).toEqual([]);
    }
    expect((await nextTransactionId()) - before).toBe(2n);
    expect((await provider.ledger()).charges).toHaveLength(charges.length);
  });

  it('is no commit more where an event is staged', async () => {
    const keys = Array.from({ length: 20 }, () => randomUUID());
    const before = await nextTransactionId();
    for (const key of keys) expect(await checkout(key, telling)).toBe(201);
    expect((await nextTransactionId()) - before).toBe(40n);
    const { rows } = await client.query(
      "SELECT count(*)::int AS events FROM outbox_messages WHERE topic = 'event'",
    );
    expect(rows).toEqual([{ events: 20 }]);
  });

  it.each([
    ['without events', {}],
    ['with events', { AMQP_URL }],
  ])('is two round trips for a checkout, and one for a replay, %s', async (_, settings) => {
    const { hostname, port } = new URL(postgres.url('postgres'));
    const proxy = new Forwarder(await freePort(), { host: hostname, port: Number(port) });
    await proxy.start();
    const through = Object.assign(new URL(postgres.url('postgres')), { port: String(proxy.port) }).href;
    const far = await startApi({
      databaseUrl: through,
      providerUrl: provider.url,
      ROLE: 'api',
      ...settings,
    });
    const cost = async (key: string) => {
      const before = proxy.arrivals;
      expect((await post(`${far.url}/v1/checkouts`, checkoutBody(), { key })).status).toBe(201);
      return proxy.arrivals - before;
    };
    await cost(randomUUID()); // connects, finds the tenant, prepares
    const key = randomUUID();
    expect(await cost(key)).toBe(2);
    expect(await cost(key)).toBe(1);
    await far.stop();
    await proxy.stop();
  });
});
