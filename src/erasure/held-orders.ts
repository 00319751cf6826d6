import { planned } from '../database/statement.js';
import type { Database, Tx } from '../database/transaction.js';
import { ERASED_EMAIL, type OrderStatus } from '../orders/order.js';
import { everyRow } from './every-row.js';
import { addressOf, type ClientWords, type Subject } from './subject.js';

export interface HeldOrder {
  readonly id: string;
  readonly status: OrderStatus;
  readonly version: number;
  readonly createdAt: Date;
  /** Of one that was erased, that of nobody. */
  readonly address: string;
  readonly hasExternalRef: boolean;
  readonly erasedAt: Date | null;
  readonly erasedBy: string | null;
}

export async function ordersOf(database: Database, { tenantId, ...subject }: Subject): Promise<HeldOrder[]> {
  const { who } = subject;
  const ids = 'orderId' in who ? [who.orderId] : await byAddress(database, { tenantId, ...subject });
  return readOrders(database, tenantId, ids);
}

/** @param ids those that are none of the tenant's are left out */
export function readOrders(
  database: Database,
  tenantId: string,
  ids: readonly string[],
): Promise<HeldOrder[]> {
  return database.query<HeldOrder>(READ, [tenantId, ids]);
}

async function byAddress(database: Database, subject: Subject): Promise<string[]> {
  const found = await WITH_ADDRESS(database, subject.tenantId, [addressOf(subject)]);
  return found.map(({ id }) => id);
}

/**
 * Overwrites what names the customer; what was sold, for how much and when stays, as the books need it. Whoever holds
 * the order is alone with its charges and refunds, so it is locked first.
 * @returns how many of them are still as they were found
 */
export async function eraseOrders(
  tx: Tx,
  tenantId: string,
  orders: readonly HeldOrder[],
  { also, by }: { readonly also: readonly ClientWords[]; readonly by: string },
): Promise<number> {
  const ids = orders.map(({ id }) => id);
  const locked = await tx.query(LOCK, [tenantId, ids, orders.map(({ version }) => version)]);
  tx.send(ERASE, [tenantId, ids, ERASED_EMAIL, also.includes('externalRef')]);
  if (also.includes('items')) tx.send(ERASE_ITEMS, [tenantId, ids]);
  tx.send(NOTE, [tenantId, ids, by]);
  return locked.length;
}

const WITH_ADDRESS = everyRow<{ id: string }>({
  table: 'orders',
  key: ['id'],
  columns: 'id',
  where: 'lower(customer_email) = lower($3)',
});

const READ = planned(`
  SELECT orders.id, status, version, orders.created_at AS "createdAt", customer_email AS address,
    erased_at AS "erasedAt", erased_by AS "erasedBy",
    coalesce(external_ref <> ${erasedRef('orders.id')}, false) AS "hasExternalRef"
  FROM orders LEFT JOIN erasures ON erasures.tenant_id = orders.tenant_id AND erasures.order_id = orders.id
  WHERE orders.tenant_id = $1 AND orders.id = ANY ($2) ORDER BY orders.id`);

/** In the order of their ids, as two erasures may share some. */
const LOCK = planned(`
  SELECT 1 FROM orders WHERE tenant_id = $1 AND (id, version) IN (SELECT * FROM unnest($2::text[], $3::int[]))
  ORDER BY id FOR UPDATE`);

/** Still a name, and one that nobody else has: what was bought under it stays bought once. */
function erasedRef(id: string): string {
  return `'erased:' || ${id}`;
}

const ERASE = planned(`
  UPDATE orders SET customer_email = $3, customer_name = NULL, shipping_address = NULL, metadata = '{}',
    external_ref = CASE WHEN $4 AND external_ref IS NOT NULL THEN ${erasedRef('id')} ELSE external_ref END,
    version = version + 1
  WHERE tenant_id = $1 AND id = ANY ($2) AND NOT (customer_email = $3 AND customer_name IS NULL
    AND shipping_address IS NULL AND metadata::text = '{}' AND NOT ($4 AND coalesce(external_ref <> ${erasedRef('id')}, false)))`);

const ERASE_ITEMS = planned(`
  UPDATE order_items SET sku = 'erased', description = NULL WHERE tenant_id = $1 AND order_id = ANY ($2)`);

const NOTE = planned(`
  INSERT INTO erasures (tenant_id, order_id, erased_by) SELECT $1, id, $3 FROM unnest($2::text[]) AS id
  ON CONFLICT (tenant_id, order_id) DO NOTHING`);
