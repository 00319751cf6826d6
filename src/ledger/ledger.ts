import { statement, type Tx } from '../database/transaction.js';

/** Money that came in for an order, in the provider's smallest unit. */
export interface OrderPayment {
  readonly tenantId: string;
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string;
}

/** Money that went back, in the provider's smallest unit. */
export interface LedgerRefund {
  readonly tenantId: string;
  readonly refundId: string;
  readonly amount: number;
  readonly currency: string;
}

/*
 * One two-legged row per effect: what `provider_balance` is debited with, less what it is credited with, is what the
 * provider holds for us. A row is never changed nor deleted, and a second one for the same effect violates the
 * primary key, however it came about.
 */

/** An order is paid once. */
export function recordPayment(tx: Tx, { tenantId, orderId, amount, currency }: OrderPayment): void {
  tx.send(INSERT, [tenantId, 'charge', orderId, 'provider_balance', 'sales', amount, currency]);
}

export function recordRefund(tx: Tx, { tenantId, refundId, amount, currency }: LedgerRefund): void {
  tx.send(INSERT, [tenantId, 'refund', refundId, 'sales', 'provider_balance', amount, currency]);
}

/** A recorded refund failed afterwards: the money is back. */
export function reverseRefund(tx: Tx, { tenantId, refundId, amount, currency }: LedgerRefund): void {
  tx.send(INSERT, [tenantId, 'refund_reversal', refundId, 'provider_balance', 'sales', amount, currency]);
}

const INSERT = statement(
  'ledger_insert',
  `INSERT INTO ledger_entries (tenant_id, kind, subject, debit_account, credit_account, amount, currency)
   VALUES ($1, $2, $3, $4, $5, $6, $7)`,
);
