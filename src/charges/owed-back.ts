import { changesOneRow } from '../database/statement.js';
import type { Tx } from '../database/transaction.js';
import { beginOperation } from '../idempotency/begin-operation.js';
import { recordOwed } from '../ledger/ledger.js';
import type { Charge } from './charge.js';

/**
 * The provider has taken the money of a charge that had ended. It is written down, and a refund of all of it begins, as
 * an operation of the service's own: with its recovery points, its derived key, and a review where nobody can tell.
 * @param charge as the provider says it is; @throws UnexpectedRowCount at commit, unless it has ended, and this is news
 */
export function oweBack(
  tx: Tx,
  tenantId: string,
  { id: chargeId, amount, currency, providerId }: Charge,
): void {
  tx.sendOne(OWE_BACK, [tenantId, chargeId, providerId]);
  recordOwed(tx, { tenantId, chargeId, amount, currency });
  beginOperation(tx, { tenantId, operation: 'refund_charge', about: chargeId, input: { chargeId } });
}

const OWE_BACK = changesOneRow(
  'charge_owe_back',
  `UPDATE charges SET owed_back = true, provider_id = $3
   WHERE tenant_id = $1 AND id = $2 AND status IN ('declined', 'rejected', 'canceled') AND NOT owed_back`,
);
