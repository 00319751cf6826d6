import type { DynamicModule } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { InboxConsumer, type InboxCounts } from '../../src/inbox/inbox-consumer.js';
import { checkoutBody, get, post, type Answer } from './checkout.js';
import { EventParts } from './event-parts.module.js';
import { openShop, type Shop } from './shop.js';
import { STRIPE_WEBHOOK_SECRETS, tell } from './webhooks.js';

type Row = Record<string, unknown>;

/** A shop whose events take effect round by round, as its tests ask for them. */
export interface EventShop extends Shop {
  checkout(key?: string, changes?: Row): Promise<Answer>;
  /** Tells the API of an event. @returns the status of its answer */
  told(event: Row): Promise<number>;
  /** One round of the consumer; time moves by back-dating. */
  consume(): Promise<InboxCounts>;
  inbox(): Promise<Row[]>;
  reviews(): Promise<Row[]>;
  chargeRow(id: string): Promise<{ status: string; order_id: string }>;
  /**
   * A checkout that was charged, and whose answer never came: not even a look-up told what had become of it.
   * @returns the charge
   */
  inDoubt(key: string, changes?: Row): Promise<string>;
  /** Paid once, wherever one looks. */
  expectPaidOnce(orderId: string): Promise<void>;
  /** Everything that money depends on, to see that it stays as it is. */
  books(): Promise<unknown>;
  /** For the next test: no faults, no events, no reviews. */
  clean(): Promise<void>;
}

export async function openEventShop(
  settings: Record<string, string> = {},
  modules: NonNullable<DynamicModule['imports']> = [],
): Promise<EventShop> {
  const shop = await openShop({ ROLE: 'api', STRIPE_WEBHOOK_SECRETS, ...settings }, [EventParts, ...modules]);
  const { sql } = shop.db;
  const checkout = (key: string = randomUUID(), changes: Row = {}) =>
    post(`${shop.api.url}/v1/checkouts`, checkoutBody(changes), { key });
  return {
    ...shop,
    checkout,
    told: (event) => tell(shop.api.url, event),
    consume: async () => {
      await sql("UPDATE inbox_messages SET due_at = now() - interval '1 s' WHERE applied_at IS NULL");
      return shop.api.app.get(InboxConsumer, { strict: false }).runOnce();
    },
    inbox: () => sql('SELECT * FROM inbox_messages ORDER BY received_at'),
    reviews: () => sql('SELECT subject_kind, subject_id, reason, evidence FROM reviews'),
    chargeRow: async (id) =>
      (await sql<{ status: string; order_id: string }>('SELECT * FROM charges WHERE id = $1', [id]))[0]!,
    inDoubt: async (key, changes = {}) => {
      await shop.provider.fault('drop_after', { times: 2 });
      await shop.provider.fault('search_down', { times: 1 });
      const answer = await checkout(key, changes);
      expect([answer.status, answer.body.code]).toEqual([503, 'outcome_unknown']);
      const { charge } = (await get(`${shop.api.url}/v1/idempotency-keys?key=${key}`)).body;
      expect(charge.status).toBe('unknown');
      return charge.id as string;
    },
    expectPaidOnce: async (orderId) => {
      const [counts] = await sql(PAID, [orderId]);
      expect(counts).toEqual({ order: 'paid', version: 2, charges: ['succeeded'], ledger: 1, receipts: 1 });
      expect(await shop.chargesOf(orderId)).toHaveLength(1);
    },
    books: () => Promise.all(BOOKS.map((table) => sql(`SELECT * FROM ${table} ORDER BY 1, 2, 3`))),
    clean: async () => {
      await shop.provider.clearFaults();
      await sql('DELETE FROM inbox_messages');
      await sql('DELETE FROM reviews');
    },
  };
}

const BOOKS = ['orders', 'charges', 'refunds', 'ledger_entries', 'outbox_messages', 'idempotency_keys'];

const PAID = `
  SELECT (SELECT status FROM orders WHERE id = $1) AS "order",
         (SELECT version FROM orders WHERE id = $1) AS version,
         (SELECT array_agg(status) FROM charges WHERE order_id = $1) AS charges,
         (SELECT count(*)::int FROM ledger_entries WHERE subject = $1) AS ledger,
         (SELECT count(*)::int FROM outbox_messages WHERE ordering_key = $1) AS receipts`;
