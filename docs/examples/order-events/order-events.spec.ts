import type { INestApplicationContext } from '@nestjs/common';
import { loadConfig } from '../../../src/config/config.js';
import { InboxConsumer } from '../../../src/inbox/inbox-consumer.js';
import { addMigrations, createTestDatabase, type TestDatabase } from '../../../test/support/database.js';
import { environment } from '../../../test/support/start-api.js';
import { EventReceiver } from './event-receiver.js';
import { startListeningService } from './listening-service.js';
import { parseEvent, type OrderEvent } from './order-event.js';
import { Takings1764500300000 } from './takings.migration.js';

let db: TestDatabase;
let service: INestApplicationContext;
beforeAll(async () => {
  db = await createTestDatabase();
  await addMigrations(db, [Takings1764500300000]);
  service = await startListeningService(loadConfig(environment({ databaseUrl: db.url })));
});
afterAll(async () => {
  await service.close();
  await db.drop();
});

const event = (
  type: string,
  subject: string,
  sequence: number,
  amount: number,
  orderId: string,
): OrderEvent => ({
  id: `${type}:${subject}`,
  type,
  tenantId: 'acme',
  sequence,
  data: { orderId, amount, currency: 'eur' },
});
/** All that may happen to an order, in the order in which it did. */
const storyOf = (orderId: string): OrderEvent[] => [
  event('charge.failed', `ch_of_${orderId}`, 3, 1700, orderId),
  event('order.paid', orderId, 4, 1700, orderId),
  event('order.refunded', `re_a_${orderId}`, 7, 500, orderId),
  event('order.refunded', `re_b_${orderId}`, 9, 200, orderId),
  event('order.refund_reversed', `re_a_${orderId}`, 12, 500, orderId),
];
const IN_THE_END = {
  paid: 1700,
  refunded: 200,
  failed_charges: 1,
  last_event: 'order.refund_reversed',
  last_sequence: 12,
};

const receive = (each: OrderEvent) => service.get(EventReceiver, { strict: false }).receive(each);
async function apply(): Promise<void> {
  await db.sql("UPDATE inbox_messages SET due_at = now() - interval '1 s' WHERE applied_at IS NULL");
  const consumer = service.get(InboxConsumer, { strict: false });
  for (;;) {
    await consumer.runOnce();
    const [waiting] = await db.sql(
      'SELECT 1 FROM inbox_messages WHERE applied_at IS NULL AND dead_at IS NULL LIMIT 1',
    );
    if (!waiting) return;
  }
}
const takingsOf = async (orderId: string) =>
  (
    await db.sql(
      `SELECT paid::int, refunded::int, failed_charges, last_event, last_sequence::int
       FROM takings WHERE order_id = $1`,
      [orderId],
    )
  )[0];

describe('A service that listens to events', () => {
  it('adds up what happened to an order', async () => {
    for (const each of storyOf('ord_1')) await receive(each);
    await apply();
    expect(await takingsOf('ord_1')).toEqual(IN_THE_END);
  });

  it('comes to the same whatever the order in which they come', async () => {
    const story = storyOf('ord_2');
    for (const each of story.reverse()) {
      await receive(each);
      await apply();
    }
    expect(await takingsOf('ord_2')).toEqual(IN_THE_END);
  });

  it('applies each once, however often and by however many it is handed over', async () => {
    const story = storyOf('ord_3');
    const taken = await Promise.all([...story, ...story, ...story].map(receive));
    expect(taken.filter(Boolean)).toHaveLength(story.length);
    await Promise.all([apply(), apply()]);
    expect(await Promise.all(story.map(receive))).toEqual(story.map(() => false)); // also after it took effect
    await apply();
    expect(await takingsOf('ord_3')).toEqual(IN_THE_END);
  });

  it('applies it with its mark, or not at all', async () => {
    const [, paid] = storyOf('ord_4');
    await db.sql("ALTER TABLE takings ADD CONSTRAINT no_room CHECK (order_id <> 'ord_4')");
    await receive(paid!);
    await db.sql("UPDATE inbox_messages SET due_at = now() - interval '1 s' WHERE applied_at IS NULL");
    await service.get(InboxConsumer, { strict: false }).runOnce();
    const marks = () => db.sql('SELECT applied_at FROM inbox_messages WHERE id = $1', [paid!.id]);
    expect(await marks()).toEqual([{ applied_at: null }]);
    await db.sql('ALTER TABLE takings DROP CONSTRAINT no_room');
    await apply();
    expect(await takingsOf('ord_4')).toMatchObject({ paid: 1700, refunded: 0, last_event: 'order.paid' });
  });

  it('changes no sum for a type that it does not know', async () => {
    await receive(event('order.praised', 'ord_5', 1, 5, 'ord_5'));
    await apply();
    expect(await takingsOf('ord_5')).toMatchObject({ paid: 0, refunded: 0, last_event: 'order.praised' });
  });

  it('asks a person about one that fails for good, and goes on with the others', async () => {
    const [, paid, refunded] = storyOf('ord_6');
    await db.sql("ALTER TABLE takings ADD CONSTRAINT no_refunds CHECK (order_id <> 'ord_6' OR refunded = 0)");
    await db.sql('ALTER TABLE inbox_messages ALTER attempts SET DEFAULT 19'); // one try is left
    await receive(refunded!);
    await db.sql('ALTER TABLE inbox_messages ALTER attempts SET DEFAULT 0');
    await receive(paid!);
    await apply();
    expect(await db.sql('SELECT subject_kind, subject_id, reason, decided_at FROM reviews')).toEqual([
      { subject_kind: 'event', subject_id: refunded!.id, reason: 'event_not_applied', decided_at: null },
    ]);
    expect(await takingsOf('ord_6')).toMatchObject({ paid: 1700, refunded: 0, last_event: 'order.paid' });
  });

  const likeOne = (changes: object) => JSON.stringify({ ...storyOf('ord_7')[1], ...changes });
  it('takes what is one for one', () => {
    expect(parseEvent(Buffer.from(likeOne({ more: 1 })))).toMatchObject({ id: 'order.paid:ord_7' });
  });
  it.each([
    ...['', '{', '[]', 'null', '{"id":"a"}', likeOne({ sequence: '3' }), likeOne({ data: null })],
    ...[likeOne({ id: 'a\0' }), likeOne({ id: 'a'.repeat(256) }), likeOne({ tenantId: 'a'.repeat(64) })],
  ])('takes %j for no event', (content) => {
    expect(() => parseEvent(Buffer.from(content))).toThrow();
  });
});
