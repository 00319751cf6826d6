import { changesOneRow, statement } from '../database/statement.js';
import type { Tx } from '../database/transaction.js';
import { OrderEntity, toOrder } from './order.entity.js';
import type { Order, OrderStatus } from './order.js';

/** @returns the order that has this externalRef already, and nothing is inserted; undefined when all went well */
export async function insertOrder(
  tx: Tx,
  tenantId: string,
  order: Order,
): Promise<{ id: string; status: OrderStatus } | undefined> {
  const inserted = tx.execute(INSERT, [
    tenantId,
    order.id,
    order.amount,
    order.currency,
    order.customer.email,
    order.customer.name ?? null,
    order.externalRef ?? null,
    json(order.shippingAddress),
    JSON.stringify(order.metadata),
    order.createdAt,
  ]);
  // Only an externalRef can be taken; without one there is nothing to wait for.
  if (order.externalRef !== undefined && (await inserted) === 0)
    return holderOf(tx, tenantId, order.externalRef);
  insertItems(tx, tenantId, order);
  return undefined;
}

/** One statement for all items. */
function insertItems(tx: Tx, tenantId: string, { id, items }: Order): void {
  tx.send(INSERT_ITEMS, [
    tenantId,
    id,
    items.map(({ sku }) => sku),
    items.map(({ description }) => description ?? null),
    items.map(({ quantity }) => quantity),
    items.map(({ unitAmount }) => unitAmount),
  ]);
}

async function holderOf(
  tx: Tx,
  tenantId: string,
  externalRef: string,
): Promise<{ id: string; status: OrderStatus }> {
  const [holder] = await tx.query<{ id: string; status: OrderStatus }>(FIND_BY_REF, [tenantId, externalRef]);
  if (!holder) throw new Error('externalRef conflicted with an order that is not there'); // orders are never deleted
  return holder;
}

/**
 * Locks the order until the transaction ends: its charges and its changes take turns. Locked first and read then, in
 * one flight: a statement that had to wait for the lock would join the new order with the items it saw before.
 */
export async function lockOrder(tx: Tx, tenantId: string, id: string): Promise<Order | undefined> {
  tx.send(LOCK, [tenantId, id]);
  const [order] = await tx.managerFor(tenantId).find(OrderEntity, {
    where: { tenantId, id },
    relations: { items: true },
  });
  return order && toOrder(order);
}

/**
 * Writes everything of an order that may be edited, its items among it.
 * @param order as it shall be, with the version that it had when it was locked
 * @throws UnexpectedRowCount at commit, unless it is pending and of that version still
 */
export function replaceOrder(tx: Tx, tenantId: string, order: Order): void {
  const { id, amount, currency, customer, version } = order;
  tx.sendOne(REPLACE, [
    tenantId,
    id,
    version,
    amount,
    currency,
    customer.email,
    customer.name ?? null,
    json(order.shippingAddress),
    JSON.stringify(order.metadata),
  ]);
  tx.send(DELETE_ITEMS, [tenantId, id]);
  insertItems(tx, tenantId, order);
}

/** @throws UnexpectedRowCount at commit, unless the order is pending and of this version still */
export function saveShippingAddress(tx: Tx, tenantId: string, { id, version, shippingAddress }: Order): void {
  tx.sendOne(SAVE_SHIPPING_ADDRESS, [tenantId, id, version, json(shippingAddress)]);
}

/** @throws UnexpectedRowCount at commit, unless the order is pending and of this version still */
export function markCanceled(tx: Tx, tenantId: string, { id, version }: Order): void {
  tx.sendOne(MARK_CANCELED, [tenantId, id, version]);
}

/** @throws UnexpectedRowCount at commit, unless the order is pending */
export function markPaid(tx: Tx, tenantId: string, id: string): void {
  tx.sendOne(MARK_PAID, [tenantId, id]);
}

function json(value: object | undefined): string | null {
  return value ? JSON.stringify(value) : null;
}

const INSERT = statement(
  'order_insert',
  `INSERT INTO orders (tenant_id, id, status, amount, currency, customer_email, customer_name, external_ref,
     shipping_address, metadata, created_at)
   VALUES ($1, $2, 'pending', $3, $4, $5, $6, $7, $8, $9, $10)
   ON CONFLICT (tenant_id, external_ref) WHERE external_ref IS NOT NULL DO NOTHING`,
);

const INSERT_ITEMS = statement(
  'order_insert_items',
  `INSERT INTO order_items (tenant_id, order_id, position, sku, description, quantity, unit_amount)
   SELECT $1, $2, item.position - 1, item.sku, item.description, item.quantity, item.unit_amount
   FROM unnest($3::text[], $4::text[], $5::int[], $6::bigint[])
     WITH ORDINALITY AS item (sku, description, quantity, unit_amount, position)`,
);

const DELETE_ITEMS = statement(
  'order_delete_items',
  'DELETE FROM order_items WHERE tenant_id = $1 AND order_id = $2',
);

const LOCK = statement('order_lock', 'SELECT 1 FROM orders WHERE tenant_id = $1 AND id = $2 FOR UPDATE');

const FIND_BY_REF = statement(
  'order_find_by_ref',
  'SELECT id, status FROM orders WHERE tenant_id = $1 AND external_ref = $2',
);

const MARK_PAID = changesOneRow(
  'order_mark_paid',
  `UPDATE orders SET status = 'paid', version = version + 1
   WHERE tenant_id = $1 AND id = $2 AND status = 'pending'`,
);

const MARK_CANCELED = changesOneRow(
  'order_mark_canceled',
  `UPDATE orders SET status = 'canceled', version = version + 1
   WHERE tenant_id = $1 AND id = $2 AND version = $3 AND status = 'pending'`,
);

const SAVE_SHIPPING_ADDRESS = changesOneRow(
  'order_save_shipping_address',
  `UPDATE orders SET shipping_address = $4, version = version + 1
   WHERE tenant_id = $1 AND id = $2 AND version = $3 AND status = 'pending'`,
);

const REPLACE = changesOneRow(
  'order_replace',
  `UPDATE orders SET amount = $4, currency = $5, customer_email = $6, customer_name = $7, shipping_address = $8,
     metadata = $9, version = version + 1
   WHERE tenant_id = $1 AND id = $2 AND version = $3 AND status = 'pending'`,
);
