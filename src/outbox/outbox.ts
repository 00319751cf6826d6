import { Injectable } from '@nestjs/common';
import { typeidUnboxed } from 'typeid-js';
import { statement } from '../database/statement.js';
import type { Tx } from '../database/transaction.js';

/** A message that tells of a change, staged in the transaction of that change. */
export interface OutboxMessage {
  readonly tenantId: string;
  /** Names the message for good, e.g. `receipt:ord_…`: staged twice, it is one message. */
  readonly dedupeKey: string;
  /** Which handler delivers it. */
  readonly topic: string;
  /** Messages that share one are delivered in the order they were staged. */
  readonly orderingKey?: string;
  readonly payload: object;
}

/**
 * Stages messages. Delivery is the relay's, after the commit; without the caller's transaction there is nothing
 * to stage in, so this does not compile outside one.
 */
@Injectable()
export class Outbox {
  private committed = (): void => undefined;
  private readonly leftOut = new Set<string>();

  add(tx: Tx, { tenantId, dedupeKey, topic, orderingKey, payload }: OutboxMessage): void {
    if (this.leftOut.has(topic)) return;
    tx.send(ADD, [
      tenantId,
      typeidUnboxed('msg'),
      dedupeKey,
      topic,
      orderingKey ?? null,
      JSON.stringify(payload),
    ]);
    tx.afterCommit(this.committed);
  }

  /** Messages of a topic that nobody is configured to deliver are not staged. */
  leaveOut(topic: string): void {
    this.leftOut.add(topic);
  }

  /**
   * Calls `listener` after every commit in this process that staged something. A nudge and no more: the relay polls
   * as well, and other processes are not told. Not NOTIFY, which takes one lock for all commits of the database.
   */
  onCommitted(listener: () => void): void {
    this.committed = listener;
  }
}

const ADD = statement(
  'outbox_add',
  `INSERT INTO outbox_messages (tenant_id, id, dedupe_key, topic, ordering_key, payload)
   VALUES ($1, $2, $3, $4, $5, $6)
   ON CONFLICT (tenant_id, dedupe_key) DO NOTHING`,
);
