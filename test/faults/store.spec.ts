import { randomUUID } from 'node:crypto';
import { checkoutBody, post } from '../support/checkout.js';
import { openShop, type Shop } from '../support/shop.js';

const checkout = ({ api }: Shop, key: string = randomUUID()) =>
  post(`${api.url}/v1/checkouts`, checkoutBody(), { key });

describe('A database that has become read-only', () => {
  let shop: Shop;
  beforeAll(async () => void (shop = await openShop({ ROLE: 'api' })));
  afterAll(() => shop.close());

  /** For sessions that begin from now on. */
  async function setReadOnly(readOnly: 'on' | 'off'): Promise<void> {
    const name = new URL(shop.db.url).pathname.slice(1);
    await shop.db.sql(`ALTER DATABASE ${name} SET default_transaction_read_only = ${readOnly}`);
  }

  /** As in a failover. */
  const endSessions = () =>
    shop.db.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );

  it('costs 503 with Retry-After, and nothing is charged; the same key works once it takes writes again [C-13]', async () => {
    const key = randomUUID();
    await setReadOnly('on');
    await endSessions();
    for (let tries = 0; tries < 20; tries++) {
      const refused = await checkout(shop, key);
      expect([refused.status, refused.body.code]).toEqual([503, 'store_unavailable']);
      expect(refused.headers.get('retry-after')).toBe('1');
    }
    expect((await shop.provider.ledger()).charges).toEqual([]);
    await setReadOnly('off'); // the sessions that began meanwhile stay as they are
    const statuses: number[] = [];
    for (let tries = 0; tries < 20 && !statuses.includes(201); tries++)
      statuses.push((await checkout(shop, key)).status);
    expect(statuses.at(-1)).toBe(201); // before that, at most one for each of those sessions
    expect(statuses.filter((status) => ![201, 503].includes(status))).toEqual([]);
    expect((await shop.provider.ledger()).charges).toHaveLength(1);
  });
});

describe('200 clients at once, and a pool of two', () => {
  it('are all served, or told to come back, while the probes answer', async () => {
    const shop = await openShop({ ROLE: 'api', DATABASE_POOL_SIZE: '2' });
    await shop.provider.fault('delay', { times: 200, delayMs: 500 });
    const answers = Array.from({ length: 200 }, () => checkout(shop));
    const probe = await fetch(`${shop.api.url}/health/ready`);
    expect(probe.status).toBe(200);
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => ![201, 503].includes(status))).toEqual([]);
    const paid = await shop.db.sql("SELECT 1 FROM orders WHERE status = 'paid'");
    expect(paid.length).toBeGreaterThanOrEqual(statuses.filter((status) => status === 201).length);
    expect((await checkout(shop)).status).toBe(201);
    await shop.close();
  });
});

describe('A phase that PostgreSQL rolls back, as it lost against another', () => {
  let shop: Shop;
  beforeAll(async () => void (shop = await openShop({ ROLE: 'api' })));
  afterAll(() => shop.close());

  /** A sequence counts on through rollbacks: so the first insert fails, and the next does not. */
  const failOnce = (table: string, sqlstate: string) =>
    shop.db.sql(`
      CREATE SEQUENCE inserts;
      CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
        IF nextval('inserts') = 1 THEN RAISE EXCEPTION 'lost' USING ERRCODE = '${sqlstate}'; END IF;
        RETURN new;
      END $$;
      CREATE TRIGGER fail_once BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION fail_once()`);
  afterEach(() => shop.db.sql('DROP FUNCTION fail_once CASCADE; DROP SEQUENCE inserts'));

  it.each([
    ['deadlock', '40P01', 'orders'],
    ['deadlock', '40P01', 'ledger_entries'],
    ['serialization failure', '40001', 'orders'],
    ['serialization failure', '40001', 'ledger_entries'],
  ])('by a %s (%s) at %s, is done again; no call is', async (_what, sqlstate, table) => {
    await failOnce(table, sqlstate);
    const answer = await checkout(shop);
    expect(answer.status).toBe(201);
    expect(await shop.chargesOf(answer.body.order.id as string)).toMatchObject([{ calls: 1 }]);
    expect(await shop.db.sql('SELECT last_value::int AS n, is_called FROM inserts')).toEqual([
      { n: 2, is_called: true },
    ]);
  });
});
