import { Reconciler } from '../../src/charges/reconciler.js';
import { Completer } from '../../src/idempotency/completer.js';
import { Reaper } from '../../src/background/reaper.js';
import { InboxConsumer } from '../../src/inbox/inbox-consumer.js';
import { MessageHandlers } from '../../src/outbox/delivery.js';
import { OutboxStore } from '../../src/outbox/outbox.store.js';
import { Relay } from '../../src/outbox/relay.js';
import { ReceiptsModule } from '../../src/receipts/receipts.module.js';
import { RefundReconciler } from '../../src/refunds/refund-reconciler.js';
import { post, type Answer } from '../support/checkout.js';
import { EventParts } from '../support/event-parts.module.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';
import type { ProviderLedger } from '../support/mock-provider.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { openShop, type Shop } from '../support/shop.js';
import { SECRET, STRIPE_WEBHOOK_SECRETS } from '../support/webhooks.js';
import type { Ask, KnownKey } from './model.js';
import { PostOffice } from './post-office.js';

/** The real service, provider and mail server. Background work runs round by round, as a schedule asks for it. */
export class World {
  private before: ProviderLedger = { charges: [], refunds: [] };

  private constructor(
    readonly shop: Shop,
    readonly mailbox: Mailbox,
    private readonly postOffice: PostOffice,
  ) {}

  static async open(settings: Record<string, string>): Promise<World> {
    const mailbox = await startMailbox();
    const options = { ROLE: 'api', FAULTS: 'on', STRIPE_WEBHOOK_SECRETS, smtpUrl: mailbox.smtpUrl };
    const modules = [RecoveryParts, EventParts, ReceiptsModule];
    const shop = await openShop({ ...options, ...settings }, modules);
    const postOffice = new PostOffice();
    await control(shop, 'PUT', '_webhook_endpoint', { url: await postOffice.open(), secret: SECRET });
    return new World(shop, mailbox, postOffice);
  }

  async close(): Promise<void> {
    this.postOffice.close();
    await this.shop.close();
    await this.mailbox.stop();
  }

  /** As new. The provider keeps its books; what is in them by now is not this schedule's. */
  async begin(): Promise<void> {
    await this.shop.db.sql(`TRUNCATE ${TABLES.join(', ')} CASCADE`);
    await this.heal();
    await this.mailbox.clear();
    this.before = await this.shop.provider.ledger();
  }

  /** No fault that was ordered happens any more. */
  async heal(): Promise<void> {
    await this.shop.provider.clearFaults();
    await this.mailbox.clearFaults();
  }

  /** @returns undefined where the connection broke before the answer */
  async send(key: KnownKey, { path, body }: Ask, fault?: string): Promise<Answer | undefined> {
    const headers: Record<string, string> = fault === undefined ? {} : { 'sandbox-fault': fault };
    const sending = post(`${this.shop.api.url}${path}`, body, { key: key.name, apiKey: key.apiKey, headers });
    return fault?.endsWith('lose_reply') ? sending.catch(() => undefined) : sending;
  }

  /** What the provider has done during this schedule. */
  async provided(): Promise<ProviderLedger> {
    const { charges, refunds } = await this.shop.provider.ledger();
    return {
      charges: charges.slice(this.before.charges.length),
      refunds: refunds.slice(this.before.refunds.length),
    };
  }

  /** The leases of all that are at work are over, although they still work. */
  async endLeases(): Promise<void> {
    await this.sql(
      "UPDATE idempotency_keys SET locked_until = now() - interval '1 s' WHERE locked_until IS NOT NULL",
    );
  }

  async complete(): Promise<void> {
    await this.sql(
      "UPDATE idempotency_keys SET next_run_at = now() - interval '1 s' WHERE status = 'in_progress'",
    );
    await this.part(Completer).runOnce();
  }

  async relay(): Promise<void> {
    await this.sql("UPDATE outbox_messages SET due_at = now() - interval '1 s' WHERE due_at IS NOT NULL");
    const handlers = this.part(MessageHandlers);
    await new Relay(new OutboxStore(this.shop.db.database), handlers).runOnce();
  }

  async consume(): Promise<void> {
    await this.sql("UPDATE inbox_messages SET due_at = now() - interval '1 s' WHERE applied_at IS NULL");
    await this.part(InboxConsumer).runOnce();
  }

  async reconcile(): Promise<void> {
    await this.sql("UPDATE charges SET next_poll_at = now() - interval '1 s'");
    await this.part(Reconciler).runOnce();
    await this.sql("UPDATE refunds SET next_poll_at = now() - interval '1 s'");
    await this.part(RefundReconciler).runOnce();
  }

  /** The retention of these keys is over. */
  async expire(keys: readonly KnownKey[]): Promise<void> {
    await this.sql(
      "UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE status = 'finished' AND key = ANY ($1)",
      [keys.map(({ name }) => name)],
    );
  }

  async reap(): Promise<void> {
    await this.part(Reaper).runOnce();
  }

  /** One event of the provider arrives, the nth, whether or not it has before. */
  async deliver(nth: number): Promise<void> {
    await this.postOffice.handOver(nth, this.shop.api.url, await this.payments());
  }

  async deliverAll(): Promise<void> {
    await this.postOffice.handOverAll(this.shop.api.url, await this.payments());
  }

  /** Customers make up their minds, banks settle. */
  async timePasses(outcome: 'succeed' | 'fail'): Promise<void> {
    const { charges, refunds } = await this.provided();
    for (const { id } of charges.filter(({ status }) => status === 'requires_action'))
      await control(this.shop, 'POST', `_authenticate/${id}`, { outcome });
    for (const { id } of refunds.filter(({ status }) => status === 'pending'))
      await control(this.shop, 'POST', `_settle/${id}`);
  }

  /** What somebody or some part still has to do. */
  async unfinished(): Promise<unknown[]> {
    return this.sql(`
      SELECT 'key' AS what, key AS id FROM idempotency_keys WHERE status = 'in_progress'
      UNION ALL SELECT 'event', id FROM inbox_messages WHERE applied_at IS NULL
      UNION ALL SELECT 'mail', dedupe_key FROM outbox_messages WHERE sent_at IS NULL
      UNION ALL SELECT 'charge', id FROM charges WHERE status IN ('pending', 'unknown')`);
  }

  sql<Row>(text: string, values?: unknown[]): Promise<Row[]> {
    return this.shop.db.sql<Row>(text, values);
  }

  private part<Part>(type: abstract new (...parts: never[]) => Part): Part {
    return this.shop.api.app.get<Part>(type, { strict: false });
  }

  private async payments(): Promise<Set<string>> {
    return new Set((await this.provided()).charges.map(({ id }) => id));
  }
}

const TABLES = [
  'idempotency_keys',
  'order_items',
  'orders',
  'charges',
  'refunds',
  'ledger_entries',
  'outbox_messages',
  'inbox_messages',
  'reviews',
];

async function control({ provider }: Shop, method: string, path: string, body: object = {}): Promise<void> {
  const answer = await fetch(`${provider.url}/${path}`, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}
