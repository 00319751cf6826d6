import { Injectable } from '@nestjs/common';
import { statement } from '../database/statement.js';
import { Database, type Tx } from '../database/transaction.js';

/** A message of another system, as it comes in. */
export interface IncomingMessage {
  readonly tenantId: string;
  /** Who sent it: a handler is registered for it. */
  readonly source: string;
  /** The sender's id of it: a message that comes again is the same one. */
  readonly id: string;
  /** What was said. JSON values only. */
  readonly payload: object;
}

/** Stores messages of other systems, each once. To apply them is the consumer's, so that the sender does not wait. */
@Injectable()
export class Inbox {
  private stored = (): void => undefined;

  constructor(private readonly database: Database) {}

  /** One round trip. @returns whether it is new, and of a tenant that we have */
  async receive({ tenantId, source, id, payload }: IncomingMessage): Promise<boolean> {
    const rows = await this.database.query(RECEIVE, [tenantId, source, id, readable(payload)]);
    if (rows.length > 0) this.stored();
    return rows.length > 0;
  }

  /**
   * Applies it as if it had just come, whether it was given up or applied before: what it tells is a state, so that
   * twice is once. One that is not kept any more stays away.
   */
  applyAgain(tx: Tx, { tenantId, source, id }: Omit<IncomingMessage, 'payload'>): void {
    tx.send(APPLY_AGAIN, [tenantId, source, id]);
    tx.afterCommit(() => this.stored());
  }

  /** Calls `listener` after every message that this process stored. A nudge and no more: the consumer polls as well. */
  onStored(listener: () => void): void {
    this.stored = listener;
  }
}

/** PostgreSQL stores U+0000 as JSON writes it, and fails where it is to read it. */
function readable(payload: object): string {
  return JSON.stringify(payload, (_name, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value,
  );
}

const RECEIVE = statement(
  'inbox_receive',
  `INSERT INTO inbox_messages (tenant_id, source, id, payload)
   SELECT $1, $2, $3, $4 FROM tenants WHERE id = $1
   ON CONFLICT (tenant_id, source, id) DO NOTHING RETURNING id`,
);

const APPLY_AGAIN = statement(
  'inbox_apply_again',
  `UPDATE inbox_messages SET applied_at = NULL, dead_at = NULL, attempts = 0, due_at = now()
   WHERE tenant_id = $1 AND source = $2 AND id = $3`,
);
