import { planned } from '../database/statement.js';
import type { Database, Tx } from '../database/transaction.js';
import type { ChargeStatus } from '../charges/charge.js';
import type { RefundStatus } from '../refunds/refund.js';
import { everyRow } from './every-row.js';

export interface HeldCharge {
  readonly id: string;
  readonly status: ChargeStatus;
  /** Whether there is anything to erase of it: the provider's words, a link for the customer. */
  readonly tells: boolean;
}

export interface HeldRefund {
  readonly id: string;
  readonly status: RefundStatus;
}

export function chargesOf(
  database: Database,
  tenantId: string,
  orderIds: readonly string[],
): Promise<HeldCharge[]> {
  return CHARGES(database, tenantId, [orderIds]);
}

export function refundsOf(
  database: Database,
  tenantId: string,
  chargeIds: readonly string[],
): Promise<HeldRefund[]> {
  return REFUNDS(database, tenantId, [chargeIds]);
}

/** Why the provider said no is the customer's affair; that it did is the books'. */
export function eraseCharges(tx: Tx, tenantId: string, charges: readonly HeldCharge[]): void {
  tx.send(ERASE, [tenantId, charges.map(({ id }) => id)]);
}

const CHARGES = everyRow<HeldCharge>({
  table: 'charges',
  key: ['id'],
  columns: 'id, status, next_action IS NOT NULL OR failure IS NOT NULL AS tells',
  where: 'order_id = ANY ($3)',
});

const REFUNDS = everyRow<HeldRefund>({
  table: 'refunds',
  key: ['id'],
  columns: 'id, status',
  where: 'charge_id = ANY ($3)',
});

const ERASE = planned(
  'UPDATE charges SET next_action = NULL, failure = NULL WHERE tenant_id = $1 AND id = ANY ($2)',
);
