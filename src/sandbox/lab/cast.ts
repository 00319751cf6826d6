import type { Row, TableName, Version } from './history.js';
import { WatchedKey } from './key-view.js';

/** Who and what belongs to one act. Everything else that happens in the service meanwhile is none of its business. */
export class Cast {
  readonly keys: WatchedKey[] = [];
  readonly orders = new Map<string, string>();
  readonly charges = new Set<string>();
  readonly providerIds = new Set<string>();
  /** Unsent messages and unapplied events. */
  readonly pending = new Set<string>();

  /** @param tag what the act's orders carry in their metadata */
  constructor(private readonly tag: string) {}

  /** A key that the act's client is about to send. */
  watch(tenant: string, key: string): WatchedKey {
    const known = this.keys.find((each) => each.tenant === tenant && each.key === key);
    if (known) return known;
    const watched = new WatchedKey(String.fromCharCode(65 + this.keys.length), tenant, key);
    this.keys.push(watched);
    return watched;
  }

  keyOf({ table, before, after }: Version): WatchedKey | undefined {
    const row = after ?? before;
    if (table !== 'idempotency_keys' || !row) return undefined;
    return this.keys.find(({ tenant, key }) => tenant === row['tenant_id'] && key === row['key']);
  }

  byDerivedKey(derivedKey: string): WatchedKey | undefined {
    return this.keys.find(({ id }) => id !== '' && derivedKey.includes(id));
  }

  byLookup(url: string): WatchedKey | undefined {
    const asked = decodeURIComponent(url);
    const ours = [...this.charges, ...this.providerIds].some((id) => asked.includes(id));
    return ours ? this.keys.findLast(({ row }) => row) : undefined;
  }

  /** Whether a version is of this act; remembers what it brings in. */
  includes(version: Version): boolean {
    const row = version.after ?? version.before;
    return row !== null && this.belongs[version.table](row, version);
  }

  private readonly belongs: Record<TableName, (row: Row, version: Version) => boolean> = {
    idempotency_keys: (_row, version) => this.keyOf(version) !== undefined,
    orders: (row) => this.takeOrder(row),
    charges: (row) => this.orders.has(text(row['order_id'])) && this.takeCharge(row),
    ledger_entries: (row) => this.orders.has(text(row['subject'])),
    outbox_messages: (row) =>
      this.orders.has(text(row['ordering_key'])) && this.takePending(row, ['sent_at', 'dead_at']),
    inbox_messages: (row) => this.names(row['payload']) && this.takePending(row, ['applied_at']),
    reviews: (row) => this.isSubject(text(row['subject_id'])),
  };

  /** Message-IDs are made from what a message is about. */
  isReceipt(messageId: string): boolean {
    return [...this.orders.keys()].some((id) => messageId.includes(id));
  }

  private takeOrder(row: Row): boolean {
    const { lab } = row['metadata'] as { lab?: string };
    if (lab !== this.tag) return false;
    this.orders.set(text(row['id']), text(row['status']));
    return true;
  }

  private takeCharge(row: Row): boolean {
    this.charges.add(text(row['id']));
    if (typeof row['provider_id'] === 'string') this.providerIds.add(row['provider_id']);
    return true;
  }

  private takePending(row: Row, settledBy: readonly string[]): boolean {
    const id = text(row['id']);
    if (settledBy.some((column) => row[column] !== null)) this.pending.delete(id);
    else this.pending.add(id);
    return true;
  }

  private isSubject(id: string): boolean {
    return this.charges.has(id) || this.keys.some((key) => key.id === id);
  }

  private names(payload: unknown): boolean {
    const all = JSON.stringify(payload);
    return [...this.orders.keys()].some((id) => all.includes(id));
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
