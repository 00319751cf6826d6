import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutBody, post } from '../support/checkout.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';
import { operate, OPERATORS } from '../support/operator.js';
import { openShop, type Shop } from '../support/shop.js';

describe('A dead letter', () => {
  let shop: Shop;
  let mailbox: Mailbox;
  beforeAll(async () => {
    mailbox = await startMailbox();
    shop = await openShop({ OPERATOR_TOKENS: OPERATORS.ada, smtpUrl: mailbox.smtpUrl });
  });
  afterAll(async () => {
    await shop.close();
    await mailbox.stop();
  });
  beforeEach(() => mailbox.clear());

  const letters = async (query = '') => (await operate(shop.api.url, 'get', `dead-letters${query}`)).body;
  const requeue = (id: string) => operate(shop.api.url, 'post', `dead-letters/${id}/requeue`);
  const purge = (id: string) => operate(shop.api.url, 'delete', `dead-letters/${id}`);

  /** A receipt whose last try took the mail, and lost the answer. */
  async function deadReceipt(): Promise<{ id: string; orderId: string }> {
    await shop.db.sql('ALTER TABLE outbox_messages ALTER attempts SET DEFAULT 49');
    await mailbox.fault({ kind: 'drop' });
    const { body } = await post(`${shop.api.url}/v1/checkouts`, checkoutBody());
    await shop.db.sql('ALTER TABLE outbox_messages ALTER attempts SET DEFAULT 0');
    const [{ id }] = await eventually(
      async () =>
        (await letters()).data.filter(({ dedupeKey }: any) => dedupeKey === `receipt:${body.order.id}`),
      (found) => found.length === 1,
    );
    return { id, orderId: body.order.id };
  }

  it('is listed with what went wrong, and without the address it was for', async () => {
    const { id, orderId } = await deadReceipt();
    await shop.db.sql(
      "UPDATE outbox_messages SET last_error = '550 <ada@example.com> unknown' WHERE id = $1",
      [id],
    );
    const { data, nextCursor } = await letters();
    expect(nextCursor).toBeNull();
    expect(data[0]).toEqual({
      id,
      tenantId: 'acme',
      topic: 'receipt',
      dedupeKey: `receipt:${orderId}`,
      attempts: 50,
      lastError: '550 <[address]> unknown',
      createdAt: expect.any(String),
      dueAt: null,
      sentAt: null,
      deadAt: expect.any(String),
    });
  });

  it('is delivered once more when it is requeued, with the same Message-ID; twice is once', async () => {
    const { id, orderId } = await deadReceipt();
    const [first] = await mailbox.received(1);
    const answers = await Promise.all([requeue(id), requeue(id)]);
    for (const { status, body } of answers) expect([status, body.id, body.deadAt]).toEqual([200, id, null]);
    await mailbox.received(2);
    const sent = await eventually(
      async () => (await requeue(id)).body, // still nothing: it is no dead letter any more
      ({ sentAt }) => sentAt !== null,
    );
    expect(sent).toMatchObject({ attempts: 1, dueAt: null, deadAt: null });
    const ids = (await mailbox.messages()).map(({ messageId }) => messageId);
    expect(ids).toEqual([first!.messageId, first!.messageId]);
    expect(first!.messageId).toContain(orderId);
    expect((await letters()).data.map((letter: any) => letter.id)).not.toContain(id);
  });

  it('is gone once it is purged, and nobody gets it', async () => {
    const { id } = await deadReceipt();
    expect((await purge(id)).status).toBe(204);
    expect(await shop.db.sql('SELECT 1 FROM outbox_messages WHERE id = $1', [id])).toEqual([]);
    for (const again of [await purge(id), await requeue(id)])
      expect([again.status, again.body.code]).toEqual([404, 'message_not_found']);
  });

  it('is what was given up, and no other message: what is sent cannot be purged', async () => {
    const { body } = await post(`${shop.api.url}/v1/checkouts`, checkoutBody());
    const [row] = await shop.db.sql<{ id: string }>('SELECT id FROM outbox_messages WHERE dedupe_key = $1', [
      `receipt:${body.order.id}`,
    ]);
    await eventually(
      async () => (await requeue(row!.id)).body,
      ({ sentAt }) => sentAt !== null,
    );
    const refused = await purge(row!.id);
    expect([refused.status, refused.body.code]).toEqual([409, 'message_not_dead']);
    expect(await shop.db.sql('SELECT 1 FROM outbox_messages WHERE id = $1', [row!.id])).toHaveLength(1);
  });

  it('is found page by page, the newest first', async () => {
    const made = [(await deadReceipt()).id, (await deadReceipt()).id];
    const first = await letters('?limit=1');
    const second = await letters(`?limit=1&cursor=${first.nextCursor}`);
    expect([first.data[0].id, second.data[0].id]).toEqual(made.reverse());
  });

  it.each(['msg_', '%00', 'ord_01kbn9sg6de5pv2m8w4f3tqz7x'])('is none by the name of %s', async (id) => {
    for (const { status } of [await purge(id), await requeue(id)]) expect(status).toBe(404);
  });
});

async function eventually<T>(read: () => Promise<T>, there: (found: T) => boolean): Promise<T> {
  for (const until = Date.now() + 15_000; ; await sleep(25)) {
    const found = await read();
    if (there(found)) return found;
    if (Date.now() > until) throw new Error(`Still ${JSON.stringify(found)}`);
  }
}
