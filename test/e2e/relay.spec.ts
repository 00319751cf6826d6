import { Module, type DynamicModule, type INestApplicationContext, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { loadConfig, type Config } from '../../src/config/config.js';
import { ConfigModule } from '../../src/config/config.module.js';
import { DatabaseModule } from '../../src/database/database.module.js';
import { MessageHandlers } from '../../src/outbox/delivery.js';
import { Outbox } from '../../src/outbox/outbox.js';
import { OutboxModule } from '../../src/outbox/outbox.module.js';
import { OutboxStore } from '../../src/outbox/outbox.store.js';
import { RelayModule } from '../../src/outbox/relay.module.js';
import { Relay } from '../../src/outbox/relay.js';
import { receiptFor, type ReceiptMessage } from '../../src/receipts/receipt-message.js';
import { ReceiptsModule } from '../../src/receipts/receipts.module.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';

/** The outbox and the receipts as the application wires them, without the rest of it. */
@Module({})
class Parts {
  static of(config: Config, ...modules: Type[]): DynamicModule {
    return {
      module: Parts,
      imports: [
        ConfigModule.for(config),
        DatabaseModule.for({ ...config.database, lease: config.timings.lease }, []),
        OutboxModule,
        ReceiptsModule,
        ...modules,
      ],
    };
  }
}

const receipt = (orderId: string, more: Partial<ReceiptMessage> = {}): ReceiptMessage => ({
  orderId,
  chargeId: 'ch_1',
  amount: 2900,
  currency: 'eur',
  email: 'ada@example.com',
  name: 'Ada',
  items: [{ sku: 'tea', quantity: 2, unitAmount: 1450 }],
  ...more,
});

describe('A receipt', () => {
  let db: TestDatabase;
  let mailbox: Mailbox;
  let config: Config;

  beforeAll(async () => {
    [db, mailbox] = await Promise.all([createTestDatabase(), startMailbox()]);
    config = loadConfig({
      DATABASE_URL: db.url,
      SMTP_URL: mailbox.smtpUrl,
      STRIPE_API_URL: 'http://127.0.0.1:1',
      STRIPE_API_KEY: 'none',
      PROVIDER_KEY_PREFIX: 'test',
      HASH_SECRET: 'a secret of more than thirty-two characters',
    });
  });
  afterAll(async () => {
    await mailbox.stop();
    await db.drop();
  });
  beforeEach(async () => {
    await db.sql('DELETE FROM outbox_messages');
    await mailbox.clear();
  });

  const boot = (...modules: Type[]): Promise<INestApplicationContext> =>
    NestFactory.createApplicationContext(Parts.of(config, ...modules), {
      logger: false,
      abortOnError: false,
    });
  const relayOf = (app: INestApplicationContext): Relay =>
    new Relay(new OutboxStore(db.database), app.get(MessageHandlers));
  const stage = (message: ReceiptMessage, tenantId = 'acme') =>
    db.database.transaction(async (tx) => new Outbox().add(tx, receiptFor(tenantId, message)));
  const makeDue = () =>
    db.sql("UPDATE outbox_messages SET due_at = now() - interval '1 second' WHERE due_at IS NOT NULL");

  describe('goes out by itself', () => {
    it('from the worker, soon after the commit', async () => {
      const worker = await boot(RelayModule);
      await db.database.transaction(async (tx) =>
        worker.get(Outbox).add(tx, receiptFor('acme', receipt('ord_1'))),
      );
      expect(await mailbox.received(1)).toEqual([
        {
          messageId: '<receipt.ord_1.acme@example.com>',
          to: 'ada@example.com',
          subject: 'Your receipt: 29.00 EUR',
          text: expect.stringContaining('2 × tea  29.00 EUR'),
          html: expect.stringContaining('Hello Ada,'),
          receivedAt: expect.any(String),
        },
      ]);
      await worker.close();
    });

    it('not once the worker has stopped', async () => {
      const worker = await boot(RelayModule);
      await worker.close();
      await stage(receipt('ord_1'));
      const other = await boot();
      expect(await relayOf(other).runOnce()).toMatchObject({ claimed: 1, sent: 1 }); // nobody had claimed it
      await other.close();
    });
  });

  describe('reaches its customer', () => {
    let app: INestApplicationContext;
    beforeAll(async () => {
      app = await boot();
    });
    afterAll(() => app.close());
    const runOnce = () => relayOf(app).runOnce();

    it('once, however often it was staged', async () => {
      await stage(receipt('ord_1'));
      await stage(receipt('ord_1'));
      await runOnce();
      await runOnce();
      expect(await mailbox.messages()).toHaveLength(1);
    });

    it('never, when its checkout rolled back [WO-5]', async () => {
      const checkout = db.database.transaction(async (tx) => {
        new Outbox().add(tx, receiptFor('acme', receipt('ord_1')));
        throw new Error('declined');
      });
      await expect(checkout).rejects.toThrow('declined');
      expect(await runOnce()).toMatchObject({ claimed: 0 });
      expect(await mailbox.messages()).toEqual([]);
    });

    it('again with the same Message-ID, when the relay dies after the mail server took it [WO-5]', async () => {
      await stage(receipt('ord_1'));
      const { messages } = await new OutboxStore(db.database).claim('acme', 10, 60);
      await app.get(MessageHandlers).of('receipt').deliver(messages[0]!, new AbortController().signal);
      await makeDue(); // the lease of the relay that died here has ended
      expect(await runOnce()).toMatchObject({ sent: 1 });

      const [first, second] = await mailbox.messages();
      expect(second).toEqual({ ...first, receivedAt: second!.receivedAt });
      expect(first!.messageId).toBe('<receipt.ord_1.acme@example.com>');
    });

    it('again with the same Message-ID, when the mail server loses its answer', async () => {
      await mailbox.fault({ kind: 'drop' });
      await stage(receipt('ord_1'));
      expect(await runOnce()).toMatchObject({ failed: 1 });
      await makeDue();
      expect(await runOnce()).toMatchObject({ sent: 1 });
      const ids = (await mailbox.messages()).map(({ messageId }) => messageId);
      expect(ids).toEqual(Array(2).fill('<receipt.ord_1.acme@example.com>'));
    });

    it.each(['reject', 'defer'] as const)('after a %s, which is tried again', async (kind) => {
      await mailbox.fault({ kind });
      await stage(receipt('ord_1'));
      expect(await runOnce()).toMatchObject({ failed: 1 });
      const [row] = await db.sql('SELECT last_error FROM outbox_messages');
      expect(row).toEqual({
        last_error: expect.stringMatching(kind === 'reject' ? /550 .*No such mailbox/ : /451 .*Try again/),
      });
      await makeDue();
      expect(await runOnce()).toMatchObject({ sent: 1 });
      expect(await mailbox.messages()).toHaveLength(1);
    });

    it('once the mail server is up again', async () => {
      await mailbox.stop();
      await stage(receipt('ord_1'));
      expect(await runOnce()).toMatchObject({ failed: 1 });
      mailbox = await startMailbox({ ports: mailbox.ports });
      await makeDue();
      expect(await runOnce()).toMatchObject({ sent: 1 });
      expect(await mailbox.messages()).toHaveLength(1);
    });

    it('although another receipt cannot be written', async () => {
      await stage(receipt('ord_1', { currency: 'zzz' }));
      await stage(receipt('ord_2', { email: 'not an address' }));
      await stage(receipt('ord_3'));
      expect(await runOnce()).toMatchObject({ claimed: 3, sent: 1, failed: 2 });
      expect((await mailbox.messages()).map(({ messageId }) => messageId)).toEqual([
        '<receipt.ord_3.acme@example.com>',
      ]);
    });

    it('of each tenant, under a Message-ID of its own', async () => {
      await stage(receipt('ord_1'), 'acme');
      await stage(receipt('ord_1'), 'gl@bex.2');
      await runOnce();
      const ids = (await mailbox.messages()).map(({ messageId }) => messageId);
      expect(ids.sort()).toEqual([
        '<receipt.ord_1.acme@example.com>',
        '<receipt.ord_1.gl=40bex=2e2@example.com>',
      ]);
    });

    it('alone, whatever its name and address say', async () => {
      await stage(
        receipt('ord_1', {
          name: 'Ada\r\nBcc: eve@example.com\r\n\r\n<b>Pay again</b>',
          email: 'ada@example.com\r\nRCPT TO:<eve@example.com>',
        }),
      );
      await stage(receipt('ord_2', { email: 'ada@example.com, eve@example.com' }));
      await runOnce();
      for (const mail of await mailbox.messages()) {
        expect(mail.to).not.toMatch(/(^|, )eve@example\.com/);
        expect(mail.text).not.toMatch(/^Bcc|^<b>/m);
        expect(mail.html).not.toContain('<b>Pay');
      }
    });
  });
});
