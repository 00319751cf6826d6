import { changesOneRow, statement } from '../database/statement.js';
import type { Tx } from '../database/transaction.js';
import type { Run } from '../idempotency/operation.js';
import { lockOrder } from '../orders/order.store.js';
import { ChargeEntity, toCharge } from './charge.entity.js';
import { isChargeId, type Charge, type ChargeStatus } from './charge.js';
import type { Payment } from './payment.js';

/*
 * Locks are taken in one order everywhere: the order, then its charges. A transaction that holds a charge and then
 * asks for its order could wait for one that holds the order and asks for the charge.
 */

/** Records the intent to charge a new order, which can have no other charge. */
export function insertFirstCharge(tx: Tx, run: Run<unknown>, charge: Charge): void {
  tx.send(INSERT_FIRST, valuesOf(run, charge));
}

/**
 * Records the intent to charge. @returns 0 when the order has a live charge already: the unique index on live charges
 * decides, whatever keys and processes are involved
 */
export function insertCharge(tx: Tx, run: Run<unknown>, charge: Charge): Promise<number> {
  return tx.execute(INSERT, valuesOf(run, charge));
}

function valuesOf(run: Run<unknown>, charge: Charge): unknown[] {
  const { id, orderId, status, amount, currency, createdAt } = charge;
  const { tenantId, key } = run;
  return [tenantId, id, orderId, status, amount, currency, run.derivedKey('charge'), key, createdAt];
}

/** What the provider has said nothing of yet. */
const UNSETTLED: readonly ChargeStatus[] = ['pending', 'unknown'];

/**
 * Writes what the provider said.
 * @throws UnexpectedRowCount at commit, unless the charge is still `from`: somebody else has settled it
 */
export function saveSettled(tx: Tx, tenantId: string, charge: Charge, from = UNSETTLED): void {
  const { id, status, providerId, nextAction, failure } = charge;
  tx.sendOne(SETTLE, [tenantId, id, status, providerId ?? null, json(nextAction), json(failure), from]);
}

/**
 * The provider may have acted, and nobody knows, or a person must decide, or has decided that it be tried again: still
 * live, and now visible as such.
 */
export function doubtCharge(tx: Tx, tenantId: string, { id }: Charge, as: 'unknown' | 'review'): void {
  tx.sendOne(DOUBT, [tenantId, id, as]);
}

/** Locks the order of a charge. @returns undefined where the tenant has no such charge */
export async function lockPayment(tx: Tx, tenantId: string, chargeId: string): Promise<Payment | undefined> {
  if (!isChargeId(chargeId)) return undefined;
  const where = { tenantId, id: chargeId };
  const found = await tx.managerFor(tenantId).findOneBy(ChargeEntity, where);
  const order = found && (await lockOrder(tx, tenantId, found.orderId)); // a charge never changes its order
  if (!order) return undefined;
  return { order, charge: toCharge(await tx.managerFor(tenantId).findOneByOrFail(ChargeEntity, where)) };
}

/** Whether an order that is locked has a charge that took its money, or still may. */
export async function hasLiveCharge(tx: Tx, tenantId: string, orderId: string): Promise<boolean> {
  return (await tx.query(FIND_LIVE, [tenantId, orderId])).length > 0;
}

function json(value: object | undefined): string | null {
  return value ? JSON.stringify(value) : null;
}

/** As the unique index has it, `charges_one_live_per_order`: PostgreSQL refuses an INSERT that says otherwise. */
const LIVE = "status IN ('pending', 'unknown', 'requires_action', 'processing', 'succeeded', 'review')";

const FIND_LIVE = statement(
  'charge_find_live',
  `SELECT 1 FROM charges WHERE tenant_id = $1 AND order_id = $2 AND ${LIVE}`,
);

const INSERT_FIRST = statement(
  'charge_insert_first',
  `INSERT INTO charges (tenant_id, id, order_id, status, amount, currency, derived_key, idempotency_key,
     created_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);

const INSERT = statement(
  'charge_insert',
  `${INSERT_FIRST.text}
   ON CONFLICT (tenant_id, order_id) WHERE ${LIVE} DO NOTHING`,
);

/** Where it is open now, an event will tell what became of it; the provider is asked once that should have come. */
const SETTLE = changesOneRow(
  'charge_settle',
  `UPDATE charges SET status = $3, provider_id = $4, next_action = $5, failure = $6,
     next_poll_at = now() + interval '30 seconds'
   WHERE tenant_id = $1 AND id = $2 AND status = ANY ($7)`,
);

const DOUBT = changesOneRow(
  'charge_doubt',
  `UPDATE charges SET status = $3
   WHERE tenant_id = $1 AND id = $2 AND status IN ('pending', 'unknown', 'review')`,
);
