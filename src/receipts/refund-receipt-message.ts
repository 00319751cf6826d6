import type { OutboxMessage } from '../outbox/outbox.js';
import { RECEIPT_TOPIC } from './receipt-message.js';

/** What a customer is told once money is on its way back. */
export interface RefundReceiptMessage {
  readonly refundId: string;
  readonly chargeId: string;
  readonly orderId: string;
  /** In the provider's smallest unit of the currency. */
  readonly amount: number;
  /** Three letters, lower case. */
  readonly currency: string;
  readonly email: string;
  readonly name?: string;
}

/** A refund has one receipt, however often it is staged. It is sent after that of its order. */
export function refundReceiptFor(tenantId: string, receipt: RefundReceiptMessage): OutboxMessage {
  return {
    tenantId,
    topic: RECEIPT_TOPIC,
    dedupeKey: `refund-receipt:${receipt.refundId}`,
    orderingKey: receipt.orderId,
    payload: receipt,
  };
}
