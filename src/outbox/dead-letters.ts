import { Injectable } from '@nestjs/common';
import { acrossTenants, statement } from '../database/statement.js';
import { Database } from '../database/transaction.js';

/** A message as people may see it: never its payload, which holds addresses. */
export interface MessageState {
  readonly id: string;
  readonly tenantId: string;
  readonly topic: string;
  readonly dedupeKey: string;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAt: Date;
  /** When it may be delivered next; null once it is sent or dead. */
  readonly dueAt: Date | null;
  readonly sentAt: Date | null;
  readonly deadAt: Date | null;
}

/** The messages that the relay has given up, for a person to see to. */
@Injectable()
export class DeadLetters {
  constructor(private readonly database: Database) {}

  /** The newest first. @param before the id that the page comes after */
  list(limit: number, before?: string): Promise<MessageState[]> {
    return this.database.query<MessageState>(LIST, [limit, before ?? null]);
  }

  /**
   * Makes a dead message due now, with all its tries before it; its dedupe key stays, so receivers know it again.
   * One that is not dead stays as it is: twice is once. @returns undefined where there is no such message
   */
  async requeue(id: string): Promise<MessageState | undefined> {
    const [requeued] = await this.database.query<MessageState>(REQUEUE, [id]);
    return requeued ?? this.find(id);
  }

  /** Deletes a dead message for good. @returns whether it was there and dead */
  async purge(id: string): Promise<boolean> {
    const purged = await this.database.query(PURGE, [id]);
    return purged.length === 1;
  }

  async find(id: string): Promise<MessageState | undefined> {
    const [message] = await this.database.query<MessageState>(FIND, [id]);
    return message;
  }
}

const COLUMNS = `id, tenant_id AS "tenantId", topic, dedupe_key AS "dedupeKey", attempts, last_error AS "lastError",
  created_at AS "createdAt", due_at AS "dueAt", sent_at AS "sentAt", dead_at AS "deadAt"`;

const LIST = acrossTenants(
  statement(
    'dead_letters_list',
    `SELECT ${COLUMNS} FROM outbox_messages
   WHERE dead_at IS NOT NULL AND ($2::text IS NULL OR id < $2)
   ORDER BY id DESC LIMIT $1`,
  ),
);

const REQUEUE = acrossTenants(
  statement(
    'dead_letter_requeue',
    `UPDATE outbox_messages SET dead_at = NULL, due_at = now(), attempts = 0
   WHERE id = $1 AND dead_at IS NOT NULL
   RETURNING ${COLUMNS}`,
  ),
);

const PURGE = acrossTenants(
  statement(
    'dead_letter_purge',
    'DELETE FROM outbox_messages WHERE id = $1 AND dead_at IS NOT NULL RETURNING id',
  ),
);

/** Tenant by tenant along the primary key: an index on the id alone would cost every checkout, for a rare question. */
const FIND = acrossTenants(
  statement(
    'outbox_message_find',
    `SELECT ${COLUMNS} FROM outbox_messages
   WHERE (tenant_id, id) IN (SELECT tenants.id, $1::text FROM tenants)`,
  ),
);
