import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'amqplib';
import { Logger, type INestApplicationContext } from '@nestjs/common';
import { loadConfig } from '../../../src/config/config.js';
import { addMigrations, createTestDatabase, type TestDatabase } from '../../../test/support/database.js';
import { describeWithRabbit, startRabbit, type RabbitMq } from '../../../test/support/rabbitmq.js';
import { pay, refund } from '../../../test/support/refunds.js';
import { openShop, type Shop } from '../../../test/support/shop.js';
import { startMailbox, type Mailbox } from '../../../test/support/mailbox.js';
import { environment } from '../../../test/support/start-api.js';
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
    [rabbit, mailbox, db] = await Promise.all([startRabbit(), startMailbox(), createTestDatabase()]);
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

  async function untilTakingsAre(orderId: string, expected: object): Promise<void> {
    let takings: unknown;
    for (let tries = 0; tries < 300; tries++) {
      await shop.db.sql(
        'UPDATE outbox_messages SET due_at = now() WHERE due_at > now() AND claim_token IS NULL',
      );
      [takings] = await db.sql(
        'SELECT paid::int, refunded::int, last_event FROM takings WHERE order_id = $1',
        [orderId],
      );
      if (JSON.stringify(takings) === JSON.stringify(expected)) return;
      await sleep(100);
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

  it('puts what is no event aside, and goes on', async () => {
    const connection = await connect(rabbit.url);
    const channel = await connection.createConfirmChannel();
    channel.publish('checkout.events', 'order.paid', Buffer.from('{"id":'));
    await channel.waitForConfirms();
    const { order } = await pay(shop.api.url);
    await untilTakingsAre(order.id as string, { paid: 1700, refunded: 0, last_event: 'order.paid' });
    const aside = await channel.get('takings.refused', { noAck: true });
    expect(aside && aside.content.toString()).toBe('{"id":');
    await connection.close();
  });
});
