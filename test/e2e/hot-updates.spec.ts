import { randomUUID } from 'node:crypto';
import { planned } from '../../src/database/statement.js';
import { Database } from '../../src/database/transaction.js';
import { Attempt } from '../../src/idempotency/attempt.js';
import { IdempotencyKeyStore } from '../../src/idempotency/idempotency-key.store.js';
import { checkoutBody, post } from '../support/checkout.js';
import { openShop, type Shop } from '../support/shop.js';
import { ACME } from '../support/start-api.js';

const CHECKOUTS = 40;
const RENEWALS = 40;

const REPORT = planned('SELECT pg_stat_force_next_flush()');

/**
 * An update that touches no index leaves nothing behind in one, and vacuum nothing to do there. A page may be full now
 * and then, so nearly all is what is asked for.
 */
describe('An update of a key that does not end it', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ ROLE: 'api', DATABASE_POOL_SIZE: '1', COMMIT_EVERY_PHASE: 'on' });
    await shop.db.sql('ALTER TABLE idempotency_keys SET (autovacuum_enabled = off)');
  });
  afterAll(() => shop.close());

  /** Every session that has worked on keys is told to report: the service's one, that of the renewals, the test's own. */
  const updates = async () => {
    const database = shop.api.app.get(Database);
    await database.query(REPORT);
    await database.queryReserved(REPORT);
    await shop.db.sql(REPORT.text);
    const [counted] = await shop.db.sql<{ all: string; hot: string }>(
      `SELECT n_tup_upd AS "all", n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'idempotency_keys'`,
    );
    return { all: Number(counted!.all), hot: Number(counted!.hot) };
  };

  it('touches no index where it moves the key on to its next recovery point', async () => {
    const before = await updates();
    for (let n = 0; n < CHECKOUTS; n++)
      expect((await post(`${shop.api.url}/v1/checkouts`, checkoutBody())).status).toBe(201);
    const after = await updates();
    const [all, hot] = [after.all - before.all, after.hot - before.hot];
    const between = all - CHECKOUTS; // the end leaves one index, and enters another
    expect(between).toBeGreaterThanOrEqual(CHECKOUTS);
    expect(hot).toBeGreaterThan(0.9 * between);
  });

  it('touches no index where it renews the lease', async () => {
    const key = randomUUID();
    await post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key });
    await shop.db.sql(
      `UPDATE idempotency_keys SET status = 'in_progress', reply_status = NULL, reply_body = NULL, expires_at = NULL,
         locked_until = now() + interval '1 h' WHERE key = $1`,
      [key],
    );
    const store = shop.api.app.get(IdempotencyKeyStore);
    const attempt = Attempt.resumed(
      ACME.tenant,
      key,
      (await store.find(ACME.tenant, key))!,
      performance.now(),
    );
    const before = await updates();
    for (let n = 0; n < RENEWALS; n++) expect(await store.renew(ACME.tenant, [attempt])).toBe(1);
    const after = await updates();
    expect(after.all - before.all).toBe(RENEWALS);
    expect(after.hot - before.hot).toBeGreaterThan(0.9 * RENEWALS);
  });
});
