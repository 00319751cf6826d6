import { hasLiveCharge } from '../charges/charge.store.js';
import type { Tx } from '../database/transaction.js';
import { hasSeen, type SeenVersions } from '../http/if-match.js';
import { preconditionFailed } from '../http/problems.js';
import { isOrderId, orderHeaders, type Order } from './order.js';
import { orderAlreadyPaid, orderCanceled, orderNotFound, orderPaymentInProgress } from './order.problems.js';
import { lockOrder } from './order.store.js';

/*
 * These changes need no key: they say what shall be, not what shall happen once more, and so a retry is told by what is
 * there. Where it is as asked, nothing happens and the answer is 200, whatever `If-Match` says: the version that it
 * names may be the one that the first try replaced. Only where something would change is it asked whether it may:
 *
 *   paid, canceled, or a charge at work   409
 *   `If-Match` names another version      412; last, as RFC 9110 section 13.2.1 has it
 *
 * `If-Match` also keeps the order of things: without it, a retry that comes late undoes a newer change.
 */

/** The order, locked until the transaction ends, so that no charge of it begins meanwhile. @throws Problem 404 */
export async function orderToChange(tx: Tx, tenantId: string, id: string): Promise<Order> {
  const order = isOrderId(id) ? await lockOrder(tx, tenantId, id) : undefined;
  if (!order) throw orderNotFound(id);
  return order;
}

/** @param order locked @throws Problem 409, 412 */
export async function expectChangeable(
  tx: Tx,
  tenantId: string,
  order: Order,
  seen: SeenVersions | undefined,
): Promise<void> {
  if (order.status === 'paid') throw orderAlreadyPaid(order.id, 'changed');
  if (order.status === 'canceled') throw orderCanceled(order.id, 'changed');
  if (await hasLiveCharge(tx, tenantId, order.id)) throw orderPaymentInProgress(order.id, 'changed');
  if (seen && !hasSeen(seen, orderHeaders(order).ETag)) throw preconditionFailed();
}
