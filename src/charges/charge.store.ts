import { statement, type Tx } from '../database/transaction.js';
import type { ChargeOutcome, UnsettledOutcome } from '../payments/payment-provider.js';
import type { Charge } from './charge.js';

export type SettledCharge = Exclude<ChargeOutcome, UnsettledOutcome>;

/**
 * Records the intent to charge. @returns 0 when the order has a live charge already: the unique index on live charges
 * decides, whatever keys and processes are involved
 */
export function insertCharge(tx: Tx, tenantId: string, charge: Charge, derivedKey: string): Promise<number> {
  const { id, orderId, status, amount, currency, createdAt } = charge;
  return tx.execute(INSERT, [tenantId, id, orderId, status, amount, currency, derivedKey, createdAt]);
}

/** Writes what the provider said. @throws UnexpectedRowCount at commit, if the charge was settled already */
export function settleCharge(tx: Tx, tenantId: string, charge: Charge, outcome: SettledCharge): Charge {
  const settled: Charge = {
    ...charge,
    status: outcome.status,
    ...('providerId' in outcome && outcome.providerId !== undefined && { providerId: outcome.providerId }),
    ...('nextAction' in outcome && { nextAction: outcome.nextAction }),
    ...('failure' in outcome && { failure: outcome.failure }),
  };
  tx.sendOne(SETTLE, [
    tenantId,
    settled.id,
    settled.status,
    settled.providerId ?? null,
    settled.nextAction ? JSON.stringify(settled.nextAction) : null,
    settled.failure ? JSON.stringify(settled.failure) : null,
  ]);
  return settled;
}

/** The provider may have acted, and nobody knows: still live, and now visible as such. */
export function doubtCharge(tx: Tx, tenantId: string, { id }: Charge): void {
  tx.sendOne(DOUBT, [tenantId, id]);
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
  `UPDATE charges SET status = 'unknown' WHERE tenant_id = $1 AND id = $2 AND status IN ('pending', 'unknown')`,
);
