import { randomUUID } from 'node:crypto';
import { Reaper } from '../../src/background/reaper.js';
import { DeadLetters } from '../../src/outbox/dead-letters.js';
import { MessageHandlers } from '../../src/outbox/delivery.js';
import { OutboxStore } from '../../src/outbox/outbox.store.js';
import { Relay } from '../../src/outbox/relay.js';
import { ReceiptsModule } from '../../src/receipts/receipts.module.js';
import { checkoutBody, post } from '../support/checkout.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { openShop, type Shop } from '../support/shop.js';

let mailbox: Mailbox;
let shop: Shop;
beforeAll(async () => {
  mailbox = await startMailbox();
  shop = await openShop({ ROLE: 'api', smtpUrl: mailbox.smtpUrl }, [RecoveryParts, ReceiptsModule]);
});
afterAll(async () => {
  await shop.close();
  await mailbox.stop();
});

const BOOKS = ['orders', 'charges', 'refunds', 'ledger_entries', 'idempotency_keys'];
const books = () => Promise.all(BOOKS.map((table) => shop.db.sql(`SELECT * FROM ${table} ORDER BY 1, 2`)));

describe('A dead letter', () => {
  it('that is sent again after its key was reaped is one mail, and changes nothing else', async () => {
    const handlers = shop.api.app.get(MessageHandlers, { strict: false });
    const relay = new Relay(new OutboxStore(shop.db.database), handlers, { maxAttempts: 1 });
    const key = randomUUID();
    const { body } = await post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key });
    await mailbox.fault({ kind: 'reject' });
    expect(await relay.runOnce()).toMatchObject({ dead: 1 });

    await shop.db.sql("UPDATE idempotency_keys SET expires_at = now() - interval '1 s'");
    expect(await shop.api.app.get(Reaper, { strict: false }).runOnce()).toMatchObject({ keys: 1, outbox: 0 });
    const before = await books();
    const deadLetters = new DeadLetters(shop.db.database);
    const [dead] = await deadLetters.list(10);
    await deadLetters.requeue(dead!.id);
    await deadLetters.requeue(dead!.id);
    expect(await relay.runOnce()).toMatchObject({ sent: 1 });
    expect(await relay.runOnce()).toMatchObject({ claimed: 0 });

    const mails = await mailbox.messages();
    expect(mails.map(({ messageId }) => messageId.includes(body.order.id as string))).toEqual([true]);
    expect(await books()).toEqual(before);
  });
});
