import type { Charge } from '../../../src/charges/charge.js';
import { lockPayment } from '../../../src/charges/charge.store.js';
import { changesOneRow, statement } from '../../../src/database/statement.js';
import type { Tx } from '../../../src/database/transaction.js';
import type { SettledOf } from '../../../src/idempotency/operation.js';
import { isOrderId, type Order } from '../../../src/orders/order.js';
import { lockOrder } from '../../../src/orders/order.store.js';
import type { ReservationOutcome } from './warehouse.js';

/** Locks an order, with the charge that paid it, if one did. */
export async function lockOrderToShip(
  tx: Tx,
  tenantId: string,
  orderId: string,
): Promise<{ readonly order?: Order; readonly paidBy?: Charge }> {
  const order = isOrderId(orderId) ? await lockOrder(tx, tenantId, orderId) : undefined;
  if (order?.status !== 'paid') return order ? { order } : {};
  const [paid] = await tx.query<{ id: string }>(FIND_PAID, [tenantId, orderId]);
  const payment = await lockPayment(tx, tenantId, paid!.id); // paid if and only if a charge succeeded
  return { order, paidBy: payment!.charge };
}

/** @returns 0 where the order has a shipment already, whatever came of it */
export function insertShipment(tx: Tx, tenantId: string, orderId: string): Promise<number> {
  return tx.execute(INSERT, [tenantId, orderId]);
}

/** @throws UnexpectedRowCount at commit, unless the warehouse had said nothing yet */
export function moveShipment(
  tx: Tx,
  tenantId: string,
  orderId: string,
  outcome: SettledOf<ReservationOutcome>,
): void {
  const reservationId = outcome.status === 'reserved' ? outcome.reservationId : null;
  tx.sendOne(MOVE, [tenantId, orderId, outcome.status, reservationId]);
}

const FIND_PAID = statement(
  'shipment_find_paid',
  "SELECT id FROM charges WHERE tenant_id = $1 AND order_id = $2 AND status = 'succeeded'",
);

const INSERT = statement(
  'shipment_insert',
  `INSERT INTO shipments (tenant_id, order_id, status) VALUES ($1, $2, 'reserving')
   ON CONFLICT (tenant_id, order_id) DO NOTHING`,
);

const MOVE = changesOneRow(
  'shipment_move',
  `UPDATE shipments SET status = $3, reservation_id = $4
   WHERE tenant_id = $1 AND order_id = $2 AND status = 'reserving'`,
);
