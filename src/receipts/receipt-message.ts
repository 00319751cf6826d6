import type { OutboxMessage } from '../outbox/outbox.js';

export const RECEIPT_TOPIC = 'receipt';

/** What a customer is told once they have paid. */
export interface ReceiptMessage {
  readonly orderId: string;
  readonly chargeId: string;
  /** In the provider's smallest unit of the currency. */
  readonly amount: number;
  /** Three letters, lower case. */
  readonly currency: string;
  readonly email: string;
  readonly name?: string;
  readonly items: readonly ReceiptItem[];
  /** ISO 8601; left out, the receipt is dated by when it was staged. */
  readonly paidAt?: string;
}

export interface ReceiptItem {
  readonly sku: string;
  readonly description?: string;
  readonly quantity: number;
  readonly unitAmount: number;
}

/** An order has one receipt, however often it is staged. It is sent before any later message about the order. */
export function receiptFor(tenantId: string, receipt: ReceiptMessage): OutboxMessage {
  return {
    tenantId,
    topic: RECEIPT_TOPIC,
    dedupeKey: `receipt:${receipt.orderId}`,
    orderingKey: receipt.orderId,
    payload: receipt,
  };
}
