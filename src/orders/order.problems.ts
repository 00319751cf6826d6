import { Problem } from '../http/problem.js';
import type { OrderStatus } from './order.js';

const FINAL = { 'Should-Retry': 'false' };

export function orderNotFound(id: string, param?: string): Problem {
  return new Problem({
    status: 404,
    code: 'order_not_found',
    title: 'There is no such order',
    detail: `No order ${id} is known.`,
    ...(param && { param }),
  });
}

export function externalRefTaken(order: { id: string; status: OrderStatus }): Problem {
  return new Problem({
    status: 409,
    code: 'external_ref_taken',
    title: 'An order with this externalRef exists',
    detail: `externalRef already names order ${order.id}, which is ${order.status}. Nothing was charged. Read that order; a pending one is paid with POST /v1/charges.`,
    param: 'externalRef',
    members: { orderId: order.id, orderStatus: order.status },
    headers: FINAL,
  });
}

/** What a refused request left undone. */
type Undone = 'charged' | 'changed';

export function orderAlreadyPaid(orderId: string, undone: Undone = 'charged'): Problem {
  return new Problem({
    status: 409,
    code: 'order_already_paid',
    title: 'The order is already paid',
    detail: `Order ${orderId} is paid. Nothing was ${undone}.`,
    members: { orderId },
    headers: FINAL,
  });
}

export function orderCanceled(orderId: string, undone: Undone = 'charged'): Problem {
  return new Problem({
    status: 409,
    code: 'order_canceled',
    title: 'The order is canceled',
    detail: `Order ${orderId} is canceled, for good. Nothing was ${undone}.`,
    members: { orderId },
    headers: FINAL,
  });
}

export function orderPaymentInProgress(orderId: string, undone: Undone = 'charged'): Problem {
  return new Problem({
    status: 409,
    code: 'order_payment_in_progress',
    title: 'A payment of this order is in progress',
    detail: `Order ${orderId} has a charge whose outcome is not final. Nothing was ${undone} by this request.`,
    members: { orderId },
    headers: { 'Retry-After': '2', 'Should-Retry': 'true' },
  });
}
