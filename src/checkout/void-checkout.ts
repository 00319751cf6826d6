import type { Charge } from '../charges/charge.js';
import { oweBack } from '../charges/owed-back.js';
import { saveUnpaid, type Payment } from '../charges/payment.js';
import type { Tx } from '../database/transaction.js';
import { Problem } from '../http/problem.js';
import { markCanceled } from '../orders/order.store.js';
import type { Outbox } from '../outbox/outbox.js';

/**
 * Undoes a checkout that nobody waits for any more. The order is canceled. Money that was taken is owed back, and its
 * refund begins with this transaction; a payment that is still open is ended by the reconciler, which refunds it too
 * should it come after all.
 * @param charge as the provider's answer leaves it; `pending`: the provider was never asked
 */
export function voidCheckout(tx: Tx, outbox: Outbox, tenantId: string, { order, charge }: Payment): Problem {
  markCanceled(tx, tenantId, order);
  saveUnpaid(tx, outbox, tenantId, isOpen(charge) ? charge : { ...charge, status: endOf(charge) });
  if (charge.status === 'succeeded') oweBack(tx, tenantId, charge);
  return checkoutVoided(charge);
}

function isOpen({ status }: Charge): boolean {
  return status === 'requires_action' || status === 'processing';
}

function endOf({ status }: Charge): Charge['status'] {
  return status === 'pending' || status === 'succeeded' ? 'canceled' : status;
}

/** Final for this key: whoever comes back for it buys anew. */
export function checkoutVoided({ id, orderId, status }: Charge): Problem {
  const money = status === 'succeeded' ? 'What was charged is refunded.' : 'Nothing was charged.';
  return new Problem({
    status: 409,
    code: 'checkout_voided',
    title: 'The checkout was voided',
    detail: `Nobody came back for this checkout in time, so order ${orderId} was canceled. ${money} Check out again under a new Idempotency-Key.`,
    error: { charge: id },
    members: { orderId },
    headers: { 'Should-Retry': 'false' },
  });
}
