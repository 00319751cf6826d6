import { lockPayment } from '../../../src/charges/charge.store.js';
import type { Payment } from '../../../src/charges/payment.js';
import { statement } from '../../../src/database/statement.js';
import type { Tx } from '../../../src/database/transaction.js';
import { isOrderId } from '../../../src/orders/order.js';
import type { ReturnItemsInput } from './return-items.operation.js';

/** Locks an order with the charge that paid it: returns and refunds of one order take turns. @returns undefined where nothing did */
export async function lockPaidOrder(tx: Tx, tenantId: string, orderId: string): Promise<Payment | undefined> {
  if (!isOrderId(orderId)) return undefined;
  const [charge] = await tx.query<{ id: string }>(FIND_PAID, [tenantId, orderId]);
  return charge && lockPayment(tx, tenantId, charge.id);
}

/**
 * How many of a line can still come back, and what `quantity` of it costs. What is returned counts for as long as its
 * refund may succeed, and never is more returned than is left of the charge.
 */
export async function returnableOf(
  tx: Tx,
  tenantId: string,
  { order, charge }: Payment,
  { line, quantity }: ReturnItemsInput,
): Promise<{ readonly left: number; readonly amount: number }> {
  const item = order.items[line];
  if (!item || item.unitAmount === 0) return { left: 0, amount: 0 };
  const [returned] = await tx.query<{ count: number }>(COUNT_RETURNED, [tenantId, order.id, line]);
  const paidFor = Math.floor((charge.amount - charge.amountRefunded) / item.unitAmount);
  return {
    left: Math.min(item.quantity - returned!.count, paidFor),
    amount: quantity * item.unitAmount,
  };
}

export function insertReturn(tx: Tx, tenantId: string, refundId: string, input: ReturnItemsInput): void {
  tx.send(INSERT, [tenantId, refundId, input.orderId, input.line, input.quantity]);
}

const FIND_PAID = statement(
  'return_find_paid',
  "SELECT id FROM charges WHERE tenant_id = $1 AND order_id = $2 AND status = 'succeeded'",
);

const COUNT_RETURNED = statement(
  'return_count',
  `SELECT coalesce(sum(quantity), 0)::int AS count
     FROM item_returns JOIN refunds ON refunds.tenant_id = item_returns.tenant_id AND refunds.id = refund_id
    WHERE item_returns.tenant_id = $1 AND order_id = $2 AND line = $3 AND status NOT IN ('failed', 'canceled')`,
);

const INSERT = statement(
  'return_insert',
  'INSERT INTO item_returns (tenant_id, refund_id, order_id, line, quantity) VALUES ($1, $2, $3, $4, $5)',
);
