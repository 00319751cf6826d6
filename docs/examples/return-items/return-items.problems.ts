import { Problem } from '../../../src/http/problem.js';
import type { ReturnItemsInput } from './return-items.operation.js';

export function orderNotPaid(orderId: string): Problem {
  return new Problem({
    status: 409,
    code: 'order_not_paid',
    title: 'The order is not paid',
    detail: `No order ${orderId} is known that is paid. Nothing was returned.`,
    members: { orderId },
  });
}

/** Final: under another key, and with another quantity, it may go. */
export function itemsNotReturnable({ orderId, line, quantity }: ReturnItemsInput, left: number): Problem {
  return new Problem({
    status: 409,
    code: 'items_not_returnable',
    title: 'So many cannot be returned',
    detail: `Of line ${line} of order ${orderId}, ${left} can be returned, and not ${quantity}. Nothing was returned.`,
    param: 'quantity',
    members: { orderId, left },
    headers: { 'Should-Retry': 'false' },
  });
}
