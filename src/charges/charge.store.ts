import { statement, type Tx } from '../database/transaction.js';
import type { Charge } from './charge.js';

/*
 * Locks are taken in one order everywhere: the order, then its charges. A transaction that holds a charge and then
 * asks for its order could wait for one that holds the order and asks for the charge.
 */

/** Records the intent to charge a new order, which can have no other charge. */
export function insertFirstCharge(tx: Tx, tenantId: string, charge: Charge, derivedKey: string): void {
  tx.sendOne(INSERT, valuesOf(tenantId, charge, derivedKey));
}

/**
 * Records the intent to charge. @returns 0 when the order has a live charge already: the unique index on live charges
 * decides, whatever keys and processes are involved
 */
export function insertCharge(tx: Tx, tenantId: string, charge: Charge, derivedKey: string): Promise<number> {
  return tx.execute(INSERT, valuesOf(tenantId, charge, derivedKey));
}

function valuesOf(tenantId: string, charge: Charge, derivedKey: string): unknown[] {
  const { id, orderId, status, amount, currency, createdAt } = charge;
  return [tenantId, id, orderId, status, amount, currency, derivedKey, createdAt];
}

/** Writes what the provider said. @throws UnexpectedRowCount at commit, if the charge was settled already */
export function saveSettled(tx: Tx, tenantId: string, charge: Charge): void {
  const { id, status, providerId, nextAction, failure } = charge;
  tx.sendOne(SETTLE, [tenantId, id, status, providerId ?? null, json(nextAction), json(failure)]);
}

/**
 * The provider may have acted, and nobody knows, or a person must decide, or has decided that it be tried again: still
 * live, and now visible as such.
 */
export function doubtCharge(tx: Tx, tenantId: string, { id }: Charge, as: 'unknown' | 'review'): void {
  tx.sendOne(DOUBT, [tenantId, id, as]);
}

function json(value: object | undefined): string | null {
  return value ? JSON.stringify(value) : null;
}

const INSERT = statement(
  'charge_insert',
  `INSERT INTO charges (tenant_id, id, order_id, status, amount, currency, derived_key, created_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
   ON CONFLICT (tenant_id, order_id)
     WHERE status IN ('pending', 'unknown', 'requires_action', 'processing', 'succeeded', 'review') DO NOTHING`,
);

const SETTLE = statement(
  'charge_settle',
  `UPDATE charges SET status = $3, provider_id = $4, next_action = $5, failure = $6
   WHERE tenant_id = $1 AND id = $2 AND status IN ('pending', 'unknown')`,
);

const DOUBT = statement(
  'charge_doubt',
  `UPDATE charges SET status = $3
   WHERE tenant_id = $1 AND id = $2 AND status IN ('pending', 'unknown', 'review')`,
);
