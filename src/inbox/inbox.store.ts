import { Injectable } from '@nestjs/common';
import { dueTenants, type TimedRows } from '../database/earliest.js';
import { planned, statement } from '../database/statement.js';
import { Database, type Tx } from '../database/transaction.js';
import type { ReceivedMessage } from './message-handler.js';

/** The consumer's statements. Every time in them is the database's. */
@Injectable()
export class InboxStore {
  constructor(private readonly database: Database) {}

  async tenantsWithDueMessages(): Promise<string[]> {
    const rows = await this.database.query<{ tenantId: string }>(DUE_TENANTS);
    return rows.map(({ tenantId }) => tenantId);
  }

  /** Nobody else takes these until the lease ends; whoever does then is stopped by `markApplied`. */
  async claim(tenantId: string, limit: number, leaseSeconds: number): Promise<ReceivedMessage[]> {
    const rows = await this.database.query<Omit<ReceivedMessage, 'tenantId'>>(CLAIM, [
      tenantId,
      leaseSeconds,
      limit,
    ]);
    return rows.map((row) => ({ tenantId, ...row }));
  }

  /** @returns false where somebody has applied it, or given it up: nothing more may be done in this transaction */
  async markApplied(tx: Tx, { tenantId, source, id }: ReceivedMessage): Promise<boolean> {
    return (await tx.execute(MARK_APPLIED, [tenantId, source, id])) === 1;
  }

  async fail(
    { tenantId, source, id }: ReceivedMessage,
    error: string,
    retryInSeconds: number,
  ): Promise<void> {
    await this.database.query(FAIL, [tenantId, source, id, error, retryInSeconds]);
  }

  /** Nobody tries it again, unless a person says so. @returns false where somebody has applied it, or given it up */
  async giveUp(tx: Tx, { tenantId, source, id }: ReceivedMessage, error: string): Promise<boolean> {
    return (await tx.execute(GIVE_UP, [tenantId, source, id, error])) === 1;
  }

  /** Back to where it was: the claim was no attempt. */
  async putBack({ tenantId, source, id }: ReceivedMessage, why: string, inSeconds: number): Promise<void> {
    await this.database.query(PUT_BACK, [tenantId, source, id, why, inSeconds]);
  }
}

/** Neither applied nor given up; word for word as in inbox_messages_due, which serves nothing else. */
export const WAITING = 'applied_at IS NULL AND dead_at IS NULL';

/** The same in other words: one message is found by its primary key, not among all that wait. */
const STILL_WAITING = 'coalesce(applied_at, dead_at) IS NULL';

export const WAITING_MESSAGES: TimedRows = { table: 'inbox_messages', at: 'due_at', where: WAITING };

const DUE_TENANTS = dueTenants(WAITING_MESSAGES);

/** MATERIALIZED, so that no plan runs the LIMIT twice and locks more rows. */
const CLAIM = planned(
  `WITH due AS MATERIALIZED (
     SELECT source, id FROM inbox_messages
      WHERE tenant_id = $1 AND ${WAITING} AND due_at <= now()
      ORDER BY due_at
      LIMIT $3
      FOR UPDATE SKIP LOCKED
   )
   UPDATE inbox_messages
      SET attempts = attempts + 1, due_at = now() + make_interval(secs => $2)
    WHERE tenant_id = $1 AND (source, id) IN (SELECT source, id FROM due)
   RETURNING source, id, payload, attempts`,
);

const MARK_APPLIED = statement(
  'inbox_mark_applied',
  `UPDATE inbox_messages SET applied_at = now(), last_error = NULL
   WHERE tenant_id = $1 AND source = $2 AND id = $3 AND ${STILL_WAITING}`,
);

const FAIL = statement(
  'inbox_fail',
  `UPDATE inbox_messages SET last_error = $4, due_at = now() + make_interval(secs => $5)
   WHERE tenant_id = $1 AND source = $2 AND id = $3 AND ${STILL_WAITING}`,
);

const GIVE_UP = statement(
  'inbox_give_up',
  `UPDATE inbox_messages SET dead_at = now(), last_error = $4
   WHERE tenant_id = $1 AND source = $2 AND id = $3 AND ${STILL_WAITING}`,
);

const PUT_BACK = statement(
  'inbox_put_back',
  `UPDATE inbox_messages SET last_error = $4, due_at = now() + make_interval(secs => $5), attempts = attempts - 1
   WHERE tenant_id = $1 AND source = $2 AND id = $3 AND ${STILL_WAITING}`,
);
