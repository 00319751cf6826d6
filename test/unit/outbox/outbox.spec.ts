import { randomUUID } from 'node:crypto';
import { Outbox, type OutboxMessage } from '../../../src/outbox/outbox.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

describe('The outbox', () => {
  let db: TestDatabase;
  const outbox = new Outbox();
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  const message = (more: Partial<OutboxMessage> = {}): OutboxMessage => ({
    tenantId: 'acme',
    dedupeKey: `test:${randomUUID()}`,
    topic: 'test',
    payload: { orderId: 'ord_1' },
    ...more,
  });
  const staged = ({ dedupeKey }: OutboxMessage) =>
    db.sql<{ tenant_id: string }>('SELECT * FROM outbox_messages WHERE dedupe_key = $1 ORDER BY tenant_id', [
      dedupeKey,
    ]);

  it('stages a message with the transaction of its change [WO-5]', async () => {
    const one = message({ orderingKey: 'ord_1' });
    await db.database.transaction(async (tx) => outbox.add(tx, one));
    expect(await staged(one)).toMatchObject([
      {
        id: expect.stringMatching(/^msg_/),
        topic: 'test',
        ordering_key: 'ord_1',
        payload: { orderId: 'ord_1' },
        attempts: 0,
      },
    ]);
  });

  it('stages nothing when that transaction rolls back [WO-5]', async () => {
    const one = message();
    const work = db.database.transaction(async (tx) => {
      outbox.add(tx, one);
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await staged(one)).toEqual([]);
  });

  it('stages a message once, in whatever transactions a phase runs again', async () => {
    const one = message();
    await db.database.transaction(async (tx) => [outbox.add(tx, one), outbox.add(tx, one)]);
    await db.database.transaction(async (tx) => outbox.add(tx, { ...one, payload: { orderId: 'ord_2' } }));
    expect(await staged(one)).toMatchObject([{ payload: { orderId: 'ord_1' } }]);
  });

  it('lets two tenants use the same dedupe key', async () => {
    const one = message();
    await db.database.transaction(async (tx) => [
      outbox.add(tx, one),
      outbox.add(tx, { ...one, tenantId: 'globex' }),
    ]);
    expect((await staged(one)).map(({ tenant_id }) => tenant_id)).toEqual(['acme', 'globex']);
  });

  describe('tells the relay of its process', () => {
    let commits = 0;
    beforeEach(() => {
      commits = 0;
      outbox.onCommitted(() => (commits += 1));
    });

    it('once for each commit, however much it staged', async () => {
      await db.database.transaction(async (tx) => {
        outbox.add(tx, message());
        outbox.add(tx, message());
        await tx.settle();
        expect(commits).toBe(0);
      });
      expect(commits).toBe(1);
    });

    it('nothing of a commit that staged nothing, nor of a rollback', async () => {
      await db.database.transaction(async () => undefined);
      const work = db.database.transaction(async (tx) => {
        outbox.add(tx, message());
        throw new Error('no');
      });
      await expect(work).rejects.toThrow('no');
      expect(commits).toBe(0);
    });
  });
});
