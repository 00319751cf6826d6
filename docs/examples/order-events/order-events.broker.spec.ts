import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type ConfirmChannel } from 'amqplib';
import { Logger, type INestApplicationContext } from '@nestjs/common';
import { loadConfig } from '../../../src/config/config.js';
import { addMigrations, createTestDatabase, type TestDatabase } from '../../../test/support/database.js';
import { describeWithRabbit, startRabbit, type RabbitMq } from '../../../test/support/rabbitmq.js';
import { pay, refund } from '../../../test/support/refunds.js';
import { openShop, type Shop } from '../../../test/support/shop.js';
import { startMailbox, type Mailbox } from '../../../test/support/mailbox.js';
import { environment } from '../../../test/support/start-api.js';
import { holdLock } from '../../../test/support/locks.js';
import { startListeningService } from './listening-service.js';
import { Takings1764500300000 } from './takings.migration.js';

/** The whole way: a checkout, the outbox, the relay, RabbitMQ, the inbox, the takings. */
describeWithRabbit('A service that listens to events over RabbitMQ', () => {
  let rabbit: RabbitMq;
  let mailbox: Mailbox;
  let shop: Shop;
  let db: TestDatabase;
  let service: INestApplicationContext;
  beforeAll(async () => {
    [rabbit, mailbox, db] = await Promise.all([
      startRabbit({ acknowledgeWithinMs: 1_000 }),
      startMailbox(),
      createTestDatabase(),
    ]);
    await addMigrations(db, [Takings1764500300000]);
    Logger.overrideLogger(false); // connections are lost on purpose
    const AMQP_URL = rabbit.url;
    service = await startListeningService(loadConfig(environment({ databaseUrl: db.url, AMQP_URL })));
    shop = await openShop({ AMQP_URL, ROLE: 'all', smtpUrl: mailbox.smtpUrl });
  });
  afterAll(async () => {
    await shop.close();
    await service.close();
    await rabbit.stop();
    await mailbox.stop();
    await db.drop();
  });

  async function onChannel<Result>(work: (channel: ConfirmChannel) => Promise<Result>): Promise<Result> {
    const connection = await connect(rabbit.url);
    const result = await work(await connection.createConfirmChannel());
    await connection.close();
    return result;
  }
  const tell = (...events: (object | string)[]) =>
    onChannel(async (channel) => {
      for (const event of events) {
        const content = typeof event === 'string' ? event : JSON.stringify(event);
        channel.publish('checkout.events', 'order.paid', Buffer.from(content));
      }
      await channel.waitForConfirms();
    });
  /** What failed is tried again now. */
  async function hurry(): Promise<void> {
    await shop.db.sql(
      'UPDATE outbox_messages SET due_at = now() WHERE due_at > now() AND claim_token IS NULL',
    );
    await sleep(100);
  }

  async function untilTakingsAre(orderId: string, expected: object): Promise<void> {
    let takings: unknown;
    for (let tries = 0; tries < 300; tries++) {
      await hurry();
      [takings] = await db.sql(
        'SELECT paid::int, refunded::int, last_event FROM takings WHERE order_id = $1',
        [orderId],
      );
      if (JSON.stringify(takings) === JSON.stringify(expected)) return;
    }
    expect(takings).toEqual(expected);
  }

  it('hears of a payment and of its refund', async () => {
    const { order, charge } = await pay(shop.api.url);
    await refund(shop.api.url, charge.id as string, { amount: 500 });
    await untilTakingsAre(order.id as string, { paid: 1700, refunded: 500, last_event: 'order.refunded' });
  });

  it('hears of it also where the broker was dead at the time', async () => {
    await rabbit.kill();
    const { order } = await pay(shop.api.url); // nobody notices
    await rabbit.start();
    await untilTakingsAre(order.id as string, { paid: 1700, refunded: 0, last_event: 'order.paid' });
  });

  it('applies each once where they come twice, and out of order', async () => {
    const event = (type: string, subject: string, sequence: number, amount: number) => ({
      ...{ id: `${type}:${subject}`, type, tenantId: 'acme', sequence },
      data: { orderId: 'ord_1', amount, currency: 'eur' },
    });
    const paid = event('order.paid', 'ord_1', 1, 1700);
    const refunded = event('order.refunded', 're_1', 2, 500);
    await tell(refunded, paid, refunded, paid);
    await untilTakingsAre('ord_1', { paid: 1700, refunded: 500, last_event: 'order.refunded' });
    await tell(paid, refunded); // after they took effect
    const { order } = await pay(shop.api.url);
    await untilTakingsAre(order.id as string, { paid: 1700, refunded: 0, last_event: 'order.paid' });
    await untilTakingsAre('ord_1', { paid: 1700, refunded: 500, last_event: 'order.refunded' });
  });

  it('makes its queue again where somebody has deleted it', async () => {
    await onChannel((channel) => channel.deleteQueue('takings'));
    const { order } = await pay(shop.api.url); // waits in the outbox until there is a queue
    await untilTakingsAre(order.id as string, { paid: 1700, refunded: 0, last_event: 'order.paid' });
  });

  it('comes back where the broker has closed its channel, and applies once what comes again', async () => {
    const release = await holdLock(db, 'inbox_messages');
    const { order: first } = await pay(shop.api.url);
    const closed = async () => /Timeout value used: 1000 ms/.test(await rabbit.logs());
    for (let tries = 0; tries < 300 && !(await closed()); tries++) await hurry();
    await release(); // it is stored now, and can be acknowledged no more
    expect(await closed()).toBe(true);
    const { order: second } = await pay(shop.api.url); // comes behind the first, which comes again
    for (const { id } of [second, first])
      await untilTakingsAre(id as string, { paid: 1700, refunded: 0, last_event: 'order.paid' });
  });

  it('puts what is no event aside, and goes on', async () => {
    await tell('{"id":');
    const { order } = await pay(shop.api.url);
    await untilTakingsAre(order.id as string, { paid: 1700, refunded: 0, last_event: 'order.paid' });
    const aside = await onChannel((channel) => channel.get('takings.refused', { noAck: true }));
    expect(aside && aside.content.toString()).toBe('{"id":');
  });
});
