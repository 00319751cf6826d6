import { Logger } from '@nestjs/common';
import { EventPublisher } from '../../src/events/event-publisher.js';
import { chargeFailed, orderPaid, orderRefunded } from '../../src/events/event-message.js';
import { DeadLetters } from '../../src/outbox/dead-letters.js';
import { MessageHandlers } from '../../src/outbox/delivery.js';
import { Outbox, type OutboxMessage } from '../../src/outbox/outbox.js';
import { OutboxStore } from '../../src/outbox/outbox.store.js';
import { Relay, type RelaySettings } from '../../src/outbox/relay.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { Forwarder } from '../support/forwarder.js';
import { freePort } from '../support/free-port.js';
import { describeWithRabbit, startRabbit, TestQueue, type RabbitMq } from '../support/rabbitmq.js';

const TENANT = 'acme';
const paid = (orderId: string): OutboxMessage =>
  orderPaid(TENANT, { orderId, chargeId: `ch_of_${orderId}`, amount: 1700, currency: 'eur' });
const refunded = (orderId: string, refundId: string): OutboxMessage =>
  orderRefunded(TENANT, { orderId, chargeId: `ch_of_${orderId}`, refundId, amount: 500, currency: 'eur' });

describeWithRabbit('Events over RabbitMQ', () => {
  let db: TestDatabase;
  let rabbit: RabbitMq;
  let queue: TestQueue;
  const publishers: EventPublisher[] = [];
  beforeAll(async () => {
    Logger.overrideLogger(false); // connections are lost on purpose
    [db, rabbit] = await Promise.all([createTestDatabase(), startRabbit()]);
  });
  afterAll(async () => {
    await Promise.all(publishers.map((publisher) => publisher.close()));
    await rabbit.stop();
    await db.drop();
  });
  beforeEach(async () => {
    await db.sql('DELETE FROM outbox_messages');
    queue = await TestQueue.bind(rabbit.url, 'all', '#');
  });
  afterEach(() => queue.delete());

  const relay = (url = rabbit.url, settings: Partial<RelaySettings> = {}): Relay => {
    const publisher = new EventPublisher(url);
    publishers.push(publisher);
    const handlers = new MessageHandlers();
    handlers.register(publisher);
    return new Relay(new OutboxStore(db.database), handlers, settings);
  };
  const stage = (...messages: OutboxMessage[]) =>
    db.database.transaction(async (tx) => messages.forEach((message) => new Outbox().add(tx, message)));
  const makeDue = () =>
    db.sql("UPDATE outbox_messages SET due_at = now() - interval '1 s' WHERE due_at IS NOT NULL");
  const rows = () =>
    db.sql<{ sent: boolean; last_error: string | null; attempts: number }>(
      'SELECT sent_at IS NOT NULL AS sent, last_error, attempts FROM outbox_messages ORDER BY sequence',
    );
  const ids = async () => (await queue.take()).map(({ properties }) => properties['messageId'] as string);

  it('come with their names, types, times and contents', async () => {
    await stage(
      chargeFailed(TENANT, {
        orderId: 'ord_1',
        chargeId: 'ch_1',
        amount: 1700,
        currency: 'eur',
        status: 'declined',
        code: 'card_declined',
        declineCode: null,
      }),
    );
    expect(await relay().runOnce()).toMatchObject({ sent: 1 });
    const [{ created_at: createdAt, sequence } = {}] = await db.sql<{ created_at: Date; sequence: string }>(
      'SELECT created_at, sequence FROM outbox_messages',
    );
    const [{ properties, routingKey, body } = {}] = await queue.take();
    expect(routingKey).toBe('charge.failed');
    expect(properties).toMatchObject({
      messageId: 'charge.failed:ch_1',
      type: 'charge.failed',
      contentType: 'application/json',
      timestamp: Math.floor(createdAt!.getTime() / 1_000),
      headers: { tenant: TENANT, sequence: Number(sequence) },
      deliveryMode: 2,
    });
    expect(body).toEqual({
      id: 'charge.failed:ch_1',
      type: 'charge.failed',
      tenantId: TENANT,
      sequence: Number(sequence),
      occurredAt: createdAt!.toISOString(),
      data: {
        orderId: 'ord_1',
        chargeId: 'ch_1',
        amount: 1700,
        currency: 'eur',
        status: 'declined',
        code: 'card_declined',
        declineCode: null,
      },
    });
  });

  it('that no queue is bound for are no deliveries, and go out once one is', async () => {
    await queue.delete();
    await stage(paid('ord_1'));
    const one = relay();
    expect(await one.runOnce()).toMatchObject({ sent: 0, failed: 1 });
    expect(await rows()).toEqual([
      { sent: false, attempts: 1, last_error: 'No queue is bound to checkout.events for order.paid' },
    ]);
    queue = await TestQueue.bind(rabbit.url, 'all', '#');
    await makeDue();
    expect(await one.runOnce()).toMatchObject({ sent: 1 });
    expect(await ids()).toEqual(['order.paid:ord_1']);
  });

  it('that never find a queue are dead letters, let the later ones pass, and go out when they are requeued', async () => {
    await queue.delete();
    queue = await TestQueue.bind(rabbit.url, 'refunds', 'order.refunded');
    await stage(paid('ord_1'), refunded('ord_1', 're_1'));
    const [first, one] = [relay(rabbit.url, { maxAttempts: 1 }), relay()];
    expect(await first.runOnce()).toMatchObject({ sent: 0, dead: 1 });
    expect(await one.runOnce()).toMatchObject({ sent: 1 });
    const letters = new DeadLetters(db.database);
    const [dead] = await letters.list(10);
    expect(dead).toMatchObject({
      topic: 'event',
      dedupeKey: 'order.paid:ord_1',
      lastError: 'No queue is bound to checkout.events for order.paid',
    });
    await queue.bindTo('#');
    await letters.requeue(dead!.id);
    expect(await one.runOnce()).toMatchObject({ sent: 1 });
    const [later, requeued] = await queue.take();
    expect([later, requeued].map((each) => each!.body.id)).toEqual([
      'order.refunded:re_1',
      'order.paid:ord_1',
    ]);
    expect(requeued!.body.sequence).toBeLessThan(later!.body.sequence); // so that a consumer knows
  });

  it('that a full queue refuses are sent once it has room', async () => {
    await queue.delete();
    queue = await TestQueue.bind(rabbit.url, 'all', '#', {
      'x-max-length': 1,
      'x-overflow': 'reject-publish',
    });
    const one = relay();
    await stage(paid('ord_1'));
    expect(await one.runOnce()).toMatchObject({ sent: 1 });
    await stage(paid('ord_2'));
    expect(await one.runOnce()).toMatchObject({ sent: 0, failed: 1 });
    expect((await rows())[1]).toMatchObject({
      sent: false,
      last_error: expect.stringMatching(/not confirmed/),
    });
    expect(await ids()).toEqual(['order.paid:ord_1']);
    await makeDue();
    expect(await one.runOnce()).toMatchObject({ sent: 1 });
    expect(await ids()).toEqual(['order.paid:ord_2']);
  });

  it('whose confirmation is lost go out again, under the same name', async () => {
    const proxy = new Forwarder(await freePort(), { host: '127.0.0.1', port: rabbit.port });
    await proxy.start();
    const one = relay(Object.assign(new URL(rabbit.url), { port: String(proxy.port) }).href);
    await stage(paid('ord_1'));
    expect(await one.runOnce()).toMatchObject({ sent: 1 }); // and is connected
    await stage(paid('ord_2'));
    proxy.lostAnswers = 1;
    expect(await one.runOnce()).toMatchObject({ sent: 0, failed: 1 });
    await makeDue();
    expect(await one.runOnce()).toMatchObject({ sent: 1 });
    expect(await ids()).toEqual(['order.paid:ord_1', 'order.paid:ord_2', 'order.paid:ord_2']);
    await proxy.stop();
  });

  it('wait while the broker is dead; what it had confirmed has survived it', async () => {
    const one = relay();
    await stage(paid('ord_1'));
    expect(await one.runOnce()).toMatchObject({ sent: 1 });
    await rabbit.kill();
    await stage(paid('ord_2'));
    expect(await one.runOnce()).toMatchObject({ sent: 0, failed: 1 });
    expect((await rows())[1]).toMatchObject({ sent: false, attempts: 1 });
    await rabbit.start();
    await makeDue();
    expect(await one.runOnce()).toMatchObject({ sent: 1 });
    expect(await ids()).toEqual(['order.paid:ord_1', 'order.paid:ord_2']);
  });

  it('of one order come in order, also where two relays send them and the broker dies meanwhile', async () => {
    const orders = Array.from({ length: 40 }, (_, at) => `ord_${at}`);
    for (const order of orders) {
      await stage(paid(order));
      await stage(refunded(order, `re_a_${order}`));
      await stage(refunded(order, `re_b_${order}`));
    }
    // The first event of every other order has failed before: what is due after it must not overtake it.
    await db.sql(
      "UPDATE outbox_messages SET due_at = now() + interval '1 h' WHERE dedupe_key ~ '^order.paid:ord_.*[02468]$'",
    );
    const relays = [relay(), relay()];
    const untilAllAreSent = async () => {
      for (let rounds = 0; rounds < 200; rounds++) {
        await Promise.all(relays.map((each) => each.runOnce()));
        if ((await rows()).every(({ sent }) => sent)) return;
        await makeDue();
      }
      throw new Error('Not all were sent');
    };
    await Promise.all(relays.map((each) => each.runOnce()));
    const killed = rabbit.kill();
    await Promise.all(relays.map((each) => each.runOnce()));
    await killed;
    await rabbit.start();
    await untilAllAreSent();

    const firsts = [...new Set(await ids())]; // a name that came before is the same event
    expect(firsts).toHaveLength(3 * orders.length);
    for (const order of orders)
      expect(firsts.filter((id) => id.endsWith(order) || id.endsWith(`_${order}`))).toEqual([
        `order.paid:${order}`,
        `order.refunded:re_a_${order}`,
        `order.refunded:re_b_${order}`,
      ]);
  });
});
