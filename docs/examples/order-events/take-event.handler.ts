import { Injectable } from '@nestjs/common';
import { changesOneRow } from '../../../src/database/statement.js';
import type { Tx } from '../../../src/database/transaction.js';
import { openReview } from '../../../src/idempotency/open-review.js';
import { InboxHandler, type ReceivedMessage } from '../../../src/inbox/message-handler.js';
import type { OrderEvent } from './order-event.js';

export const CHECKOUT = 'checkout';

/**
 * Adds an event to the takings of its order, in the transaction that marks it applied: once, in whatever order events
 * come. Sums do not mind the order; what is the last event does, and goes by the sequence.
 */
@Injectable()
export class TakeEvent extends InboxHandler {
  readonly source = CHECKOUT;

  async prepare(): Promise<void> {
    // Nothing to ask of another system first.
  }

  async apply(tx: Tx, { payload }: ReceivedMessage): Promise<void> {
    const { type, tenantId, sequence, data } = payload as OrderEvent;
    const { paid = 0, refunded = 0, failed = 0 } = EFFECTS[type]?.(data.amount) ?? {};
    tx.sendOne(TAKE, [tenantId, data.orderId, data.currency, paid, refunded, failed, type, sequence]);
  }

  giveUp(tx: Tx, { tenantId, id, attempts }: ReceivedMessage, lastError: string): void {
    const subject = { kind: 'event', id } as const;
    openReview(tx, { tenantId, subject, reason: 'event_not_applied', evidence: { attempts, lastError } });
  }
}

type Effect = { readonly paid?: number; readonly refunded?: number; readonly failed?: number };

/** A type that is not here changes no sum: the sender may add some. */
const EFFECTS: Readonly<Record<string, (amount: number) => Effect>> = {
  'order.paid': (amount) => ({ paid: amount }),
  'order.refunded': (amount) => ({ refunded: amount }),
  'order.refund_reversed': (amount) => ({ refunded: -amount }),
  'charge.failed': () => ({ failed: 1 }),
};

const TAKE = changesOneRow(
  'takings_take',
  `INSERT INTO takings AS t (tenant_id, order_id, currency, paid, refunded, failed_charges, last_event, last_sequence)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
   ON CONFLICT (tenant_id, order_id) DO UPDATE SET
     paid = t.paid + excluded.paid,
     refunded = t.refunded + excluded.refunded,
     failed_charges = t.failed_charges + excluded.failed_charges,
     last_event = CASE WHEN excluded.last_sequence > t.last_sequence THEN excluded.last_event ELSE t.last_event END,
     last_sequence = greatest(t.last_sequence, excluded.last_sequence)`,
);
