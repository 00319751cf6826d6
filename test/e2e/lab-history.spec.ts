import { randomUUID } from 'node:crypto';
import { changesOneRow } from '../../src/database/statement.js';
import { UnexpectedRowCount } from '../../src/database/not-committed.js';
import { FENCED } from '../../src/idempotency/fence.js';
import { History, type Version } from '../../src/sandbox/lab/history.js';
import { stepOf } from '../../src/sandbox/lab/key-view.js';
import { checkoutBody, post } from '../support/checkout.js';
import { openShop, type Shop } from '../support/shop.js';

describe('The history that the lab keeps of the database', () => {
  let shop: Shop;
  let history: History;
  beforeAll(async () => {
    shop = await openShop({ ROLE: 'api' }); // no worker that writes whenever it likes
  });
  beforeEach(async () => {
    history = new History(shop.db.url);
    await history.begin();
  });
  afterEach(() => history.close());
  afterAll(() => shop.close());

  async function checkout(): Promise<string> {
    const key = randomUUID();
    expect((await post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key })).status).toBe(201);
    return key;
  }

  const steps = (versions: readonly Version[]) =>
    versions.filter(({ table }) => table === 'idempotency_keys').map(stepOf);

  it('has every version of every row, and which were committed together', async () => {
    await checkout();
    const versions = await history.news();
    expect(steps(versions)).toEqual(['claim', 'finish']);
    const transactions = [...new Set(versions.map(({ tx }) => tx))];
    const tablesOf = (id: string) => versions.filter(({ tx }) => tx === id).map(({ table }) => table);
    expect(transactions.map((id) => tablesOf(id).sort())).toEqual([
      ['charges', 'idempotency_keys', 'orders'],
      ['charges', 'idempotency_keys', 'ledger_entries', 'orders', 'outbox_messages'],
    ]);
    expect(await history.news()).toEqual([]);
  });

  /** A transaction that writes and then fails. */
  async function inVain(text: string, values: unknown[]): Promise<void> {
    const writing = shop.db.database.transaction(async (tx) => {
      await tx.execute({ name: '', text }, values);
      throw new Error('in vain');
    });
    await expect(writing).rejects.toThrow('in vain');
  }

  it('has nothing of what was rolled back', async () => {
    await checkout();
    await history.news();
    await inVain('UPDATE orders SET version = version + $1', [1]);
    expect(await history.news()).toEqual([]);
  });

  it('knows of a write that the fence refused, although it was rolled back', async () => {
    const key = await checkout();
    expect(await history.refusal()).toBeUndefined();
    const before = Date.now() - 1;
    await inVain(`UPDATE idempotency_keys SET last_error = 'late' WHERE ${FENCED}`, [
      'acme',
      key,
      randomUUID(),
      1,
    ]);
    expect(await history.refusal()).toBeGreaterThan(before);
    expect(await history.refusal()).toBeUndefined();
  });

  it('knows of a fence that failed', async () => {
    const key = await checkout();
    expect(await history.refusal()).toBeUndefined(); // those of the checkout changed their row
    const late = changesOneRow('', `UPDATE idempotency_keys SET last_error = 'late' WHERE ${FENCED}`);
    const writing = shop.db.database.transaction(async (tx) =>
      tx.sendOne(late, ['acme', key, randomUUID(), 1]),
    );
    await expect(writing).rejects.toThrow(UnexpectedRowCount);
    expect(await history.refusal()).toBeDefined();
  });

  it('records while a scenario runs, and not a row longer', async () => {
    await history.end();
    await checkout();
    expect(await history.news()).toEqual([]);
  });

  it('makes a key old, and nothing else', async () => {
    const key = await checkout();
    await history.age('acme', key, 73);
    const [row] = await shop.db.sql<{ expired: boolean }>(
      'SELECT expires_at < now() AS expired FROM idempotency_keys WHERE key = $1',
      [key],
    );
    expect(row).toEqual({ expired: true });
    await expect(history.read('UPDATE orders SET version = 2')).rejects.toThrow(/read-only/);
  });

  it('is gone without a trace when the lab closes', async () => {
    await history.close();
    const left = await shop.db.sql(
      "SELECT tgname AS name FROM pg_trigger WHERE tgname LIKE 'lab%' UNION SELECT nspname FROM pg_namespace WHERE nspname = 'lab'",
    );
    expect(left).toEqual([]);
    history = new History(shop.db.url); // closed once more by afterEach
  });
});
