import { statement, type Tx } from '../database/transaction.js';
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
    order.shippingAddress ? JSON.stringify(order.shippingAddress) : null,
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

/** Locks the order until the transaction ends: its charges and its cancellation take turns. */
export async function lockOrder(tx: Tx, tenantId: string, id: string): Promise<Order | undefined> {
  const order = await tx.manager.findOne(OrderEntity, {
    where: { tenantId, id },
    relations: { items: true },
    lock: { mode: 'pessimistic_write', tables: ['orders'] },
  });
  return order ? toOrder(order) : undefined;
}

/** @throws UnexpectedRowCount at commit, unless the order is pending */
export function markPaid(tx: Tx, tenantId: string, id: string): void {
  tx.sendOne(MARK_PAID, [tenantId, id]);
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

const FIND_BY_REF = statement(
  'order_find_by_ref',
  'SELECT id, status FROM orders WHERE tenant_id = $1 AND external_ref = $2',
);

const MARK_PAID = statement(
  'order_mark_paid',
  `UPDATE orders SET status = 'paid', version = version + 1
   WHERE tenant_id = $1 AND id = $2 AND status = 'pending'`,
);
