import { setTimeout as sleep } from 'node:timers/promises';
import type { TestDatabase } from '../support/database.js';
import type { Mailbox } from '../support/mailbox.js';
import type { MockProvider } from '../support/mock-provider.js';
import { expectLedgersAgree } from '../support/refunds.js';
import type { Purchase } from './load.js';

/** A relay's claim that died with it ends by itself after a minute; here it is ended sooner, again and again. */
const MAILED_WITHIN_MS = 90_000;
const PATIENCE_MS = 1_000;

/** After everything: each purchase is there and was charged once, or declined once, and nothing else was. */
export async function expectBooksBalance(
  db: TestDatabase,
  provider: MockProvider,
  purchases: readonly Purchase[],
): Promise<void> {
  const ids = purchases.map(({ orderId }) => orderId);
  expect(new Set(ids).size).toBe(ids.length);
  const orders = await db.sql<{ id: string; status: string }>('SELECT id, status FROM orders ORDER BY id');
  const bought = purchases.map(({ orderId: id, status }) => ({
    id,
    status: status === 201 ? 'paid' : 'pending',
  }));
  expect(orders).toEqual(bought.sort((one, other) => (one.id < other.id ? -1 : 1)));
  const { charges } = await provider.ledger();
  const asked = (wanted: boolean) =>
    charges
      .filter(({ status }) => (status === 'succeeded') === wanted)
      .map(({ metadata }) => metadata['order_id'])
      .sort();
  expect(asked(true)).toEqual(ordersOf(purchases, 201));
  expect(asked(false)).toEqual(ordersOf(purchases, 402));
  expect(await db.sql(UNFINISHED)).toEqual([]);
  expect(await db.sql('SELECT id FROM reviews')).toEqual([]);
  await expectLedgersAgree(db, provider);
}

function ordersOf(purchases: readonly Purchase[], answered: 201 | 402): string[] {
  return purchases
    .filter(({ status }) => status === answered)
    .map(({ orderId }) => orderId)
    .sort();
}

const UNFINISHED = "SELECT key, status FROM idempotency_keys WHERE status <> 'finished'";

/** One receipt for each, counted by Message-ID: a mail may come twice. */
export async function expectReceipts(
  db: TestDatabase,
  mailbox: Mailbox,
  purchases: readonly Purchase[],
): Promise<void> {
  const until = Date.now() + MAILED_WITHIN_MS;
  while ((await db.sql('SELECT 1 FROM outbox_messages WHERE sent_at IS NULL LIMIT 1')).length > 0) {
    if (Date.now() > until) throw new Error('Not everything was mailed');
    await db.sql(
      "UPDATE outbox_messages SET due_at = now() WHERE due_at < now() + interval '55 s' AND sent_at IS NULL",
    );
    await sleep(PATIENCE_MS);
  }
  const ids = new Set((await mailbox.messages()).map(({ messageId }) => messageId));
  expect(ids.size).toBe(ordersOf(purchases, 201).length);
}
