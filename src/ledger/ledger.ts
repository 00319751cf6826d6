import { statement, type Tx } from '../database/transaction.js';

/** Money that came in for an order, in the provider's smallest unit. */
export interface OrderPayment {
  readonly tenantId: string;
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string;
}

/**
 * One two-legged row per effect. An order is paid once: a second row for it violates the primary key, however the
 * second payment came about.
 */
export function recordPayment(tx: Tx, { tenantId, orderId, amount, currency }: OrderPayment): void {
  tx.send(INSERT, [tenantId, 'charge', orderId, 'provider_balance', 'sales', amount, currency]);
}

const INSERT = statement(
  'ledger_insert',
  `INSERT INTO ledger_entries (tenant_id, kind, subject, debit_account, credit_account, amount, currency)
   VALUES ($1, $2, $3, $4, $5, $6, $7)`,
);
