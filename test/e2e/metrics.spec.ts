import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutBody, post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { EngineModule, letTripsBook, Trip } from '../support/engine.module.js';
import { Forwarder } from '../support/forwarder.js';
import { freePort } from '../support/free-port.js';
import { scrape } from '../support/metrics.js';
import { openShop, type Shop } from '../support/shop.js';
import { startApi, type StartedApi } from '../support/start-api.js';

describe('What the API tells of itself', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ ROLE: 'api' }, [{ module: EngineModule }]);
    await letTripsBook(shop.db);
  });
  afterAll(() => shop.close());
  afterEach(() => shop.provider.clearFaults());

  const checkout = (key: string, body = checkoutBody()) =>
    post(`${shop.api.url}/v1/checkouts`, body, { key });
  const requests = async (operation = 'checkout') => {
    const scraped = await scrape(shop.api.url);
    return (answer: string) => scraped.value('checkout_keyed_requests_total', { operation, answer }) ?? 0;
  };

  it('counts executions, replays, conflicts and mismatches', async () => {
    const [key, slow] = [randomUUID(), randomUUID()];
    await checkout(key);
    await checkout(key);
    await checkout(key);
    await checkout(key, checkoutBody({ currency: 'usd' }));
    await checkout(randomUUID(), checkoutBody({ currency: 'nonsense' }));
    await shop.provider.fault('delay', { times: 1, delayMs: 1_000 });
    const first = checkout(slow);
    while ((await checkout(slow)).status !== 409) await sleep(10);
    await first;
    const of = await requests();
    expect([of('executed'), of('replayed'), of('mismatch'), of('refused')]).toEqual([2, 2, 1, 1]);
    expect(of('in_use')).toBeGreaterThanOrEqual(1);
  });

  it('counts takeovers, leases that were lost, and how attempts ended', async () => {
    const trip = shop.api.app.get(Trip);
    const key = randomUUID();
    const go = () => post(`${shop.api.url}/probe/trips/fine`, {}, { key });
    trip.duringCall = async () => {
      trip.duringCall = () => Promise.resolve();
      await shop.db.sql("UPDATE idempotency_keys SET locked_until = now() - interval '1 s' WHERE key = $1", [
        key,
      ]);
      expect((await go()).status).toBe(201); // takes it over while the first is out
    };
    expect((await go()).headers.get('idempotent-replayed')).toBe('true');
    trip.says = { status: 'not_acted', reason: 'refused' };
    await post(`${shop.api.url}/probe/trips/fine`, {});
    const { value } = await scrape(shop.api.url);
    const attempts = (first: boolean, end: string) =>
      value('checkout_attempts_total', { operation: 'probe_trip', first: String(first), end });
    expect([attempts(false, 'finished'), attempts(true, 'lost'), attempts(true, 'given_up')]).toEqual([
      1, 1, 1,
    ]);
    expect((await requests('probe_trip'))('provider_unavailable')).toBe(1);
  });

  it('shows what the provider says and how long it takes', async () => {
    const declined = checkoutBody({ paymentMethod: 'pm_card_visa_chargeDeclined' });
    await checkout(randomUUID(), declined);
    const { value } = await scrape(shop.api.url);
    const calls = (outcome: string) =>
      value('checkout_provider_call_seconds_count', { call: 'charge', outcome });
    expect([calls('succeeded'), calls('declined')]).toEqual([expect.any(Number), 1]);
    expect(value('checkout_provider_away')).toBe(0);
  });

  it('has the route in its labels and never the URL, whatever is asked for', async () => {
    for (const path of ['/v1/orders/ord_canary', '/canary', '/v1/idempotency-keys?key=canary'])
      await fetch(`${shop.api.url}${path}`);
    const { labels } = await scrape(shop.api.url);
    expect(labels).toContain('/v1/orders/:id');
    expect([...labels].filter((label) => /canary|acme|@|[a-z]+_[0-9a-z]{26}/.test(label))).toEqual([]);
  });

  it('tells of the process and of its connections', async () => {
    const { value, names } = await scrape(shop.api.url);
    expect(value('checkout_database_connections')).toBeGreaterThan(0);
    expect(value('checkout_database_connections_awaited')).toBe(0);
    for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes'])
      expect(names).toContain(name);
  });
});

describe('What waits', () => {
  let db: TestDatabase;
  const started: StartedApi[] = [];
  const start = async (settings: Record<string, string> = {}) => {
    const api = await startApi({ databaseUrl: db.url, ROLE: 'api', ...settings });
    started.push(api);
    return api.url;
  };

  beforeAll(async () => void (db = await createTestDatabase()));
  afterEach(async () => void (await Promise.all(started.splice(0).map((each) => each.stop()))));
  afterAll(() => db.drop());

  it('is counted in both roles: messages due, given up and not applied, unfinished keys, open reviews', async () => {
    const url = await start();
    for (let n = 0; n < 3; n++) await post(`${url}/v1/checkouts`, checkoutBody()); // the provider is not there
    await db.sql(`
      INSERT INTO outbox_messages (tenant_id, id, dedupe_key, topic, payload, due_at, dead_at)
      SELECT 'globex', 'msg_' || n, 'msg_' || n, 'none', '{}', CASE WHEN n > 1 THEN now() - interval '2 h' END,
             CASE WHEN n = 1 THEN now() END FROM generate_series(1, 3) AS n`);
    await db.sql(`INSERT INTO inbox_messages (tenant_id, source, id, payload, due_at)
                  VALUES ('acme', 'stripe', 'evt_1', '{}', now() - interval '1 h')`);
    await db.sql(`INSERT INTO reviews (tenant_id, id, subject_kind, subject_id, reason, evidence, opened_at)
                  SELECT 'acme', 'rev_' || n, kind, 'x', 'r' || n, '{}', now() - interval '1 d'
                    FROM unnest(ARRAY['charge', 'idempotency_key', 'idempotency_key']) WITH ORDINALITY AS s (kind, n)`);
    const { value } = await scrape(url);
    expect([value('checkout_outbox_due'), value('checkout_inbox_due')]).toEqual([2, 1]);
    expect(value('checkout_outbox_due_age_seconds')).toBeGreaterThan(7_000);
    expect(value('checkout_inbox_due_age_seconds')).toBeGreaterThan(3_500);
    for (const at of [url, await start({ ROLE: 'worker', COMPLETER_GRACE_SECONDS: '100000' })]) {
      const { value } = await scrape(at);
      expect(value('checkout_keys_in_progress')).toBe(3);
      expect(value('checkout_keys_in_review')).toBe(1);
      expect(value('checkout_reviews_open')).toBe(3);
      expect(value('checkout_reviews_open_age_seconds')).toBeGreaterThan(86_000);
      expect(value('checkout_outbox_dead')).toBe(1);
    }
  });

  it('is done by jobs that count it, by result', async () => {
    const url = await start({ ROLE: 'all' });
    for (let tries = 0; tries < 400; tries++) {
      const { value } = await scrape(url);
      const failed = value('checkout_job_items_total', { job: 'Relay', result: 'failed' }) ?? 0;
      if (failed >= 2) return; // nobody handles their topic
      await sleep(25);
    }
    throw new Error('The relay did not count what failed');
  });

  it('is left out while the database is away, and everything else is still told', async () => {
    const target = new URL(db.url);
    const way = new Forwarder(await freePort(), { host: target.hostname, port: Number(target.port) });
    await way.start();
    const url = await start({
      DATABASE_URL: Object.assign(new URL(db.url), { port: String(way.port) }).href,
    });
    await way.stop();
    const { value, text } = await scrape(url);
    for (const name of [
      'checkout_outbox_due',
      'checkout_inbox_due',
      'checkout_keys_in_progress',
      'checkout_reviews_open',
    ])
      expect(value(name)).toBeUndefined();
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(0);
    expect(text).toContain('# HELP checkout_outbox_due ');
  });

  it('is told to whoever has the token, where there is one', async () => {
    const url = await start({ METRICS_TOKEN: 'a-token-of-sixteen-or-more' });
    const status = async (token?: string) =>
      (await fetch(`${url}/metrics`, token ? { headers: { Authorization: `Bearer ${token}` } } : {})).status;
    expect([
      await status(),
      await status('another-one-of-sixteen'),
      await status('a-token-of-sixteen-or-more'),
    ]).toEqual([401, 401, 200]);
  });
});
