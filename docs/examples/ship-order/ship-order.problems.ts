import type { Charge } from '../../../src/charges/charge.js';
import { Problem } from '../../../src/http/problem.js';

const FINAL = { 'Should-Retry': 'false' };

/** Final for this key: the charge was made, and is given back. */
export function outOfStock(orderId: string, reason: string): Problem {
  return new Problem({
    status: 409,
    code: 'out_of_stock',
    title: 'The goods cannot be sent',
    detail: `${reason} What was charged for order ${orderId} goes back.`,
    members: { orderId },
    headers: FINAL,
  });
}

/** Final for this key: who asks again, once the money is there, asks for the goods alone. */
export function paymentNotComplete({ id: chargeId, orderId, status, nextAction }: Charge): Problem {
  return new Problem({
    status: 402,
    code: 'payment_not_complete',
    title: 'The payment is not complete',
    detail: `Charge ${chargeId} is ${status}. Once order ${orderId} is paid, ask again under a new Idempotency-Key.`,
    members: { orderId, chargeId, ...(nextAction && { nextAction }) },
    headers: FINAL,
  });
}

export function alreadyShipped(orderId: string): Problem {
  return new Problem({
    status: 409,
    code: 'order_already_shipped',
    title: 'The order has a shipment already',
    detail: `The goods of order ${orderId} were asked for under another Idempotency-Key. Nothing was charged or reserved.`,
    members: { orderId },
    headers: FINAL,
  });
}
