import { statement } from '../database/statement.js';
import type { Tx } from '../database/transaction.js';

/** Money that came in for an order, in the provider's smallest unit. */
export interface OrderPayment {
  readonly tenantId: string;
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string;
}

/** Money that came in for a charge that had ended, in the provider's smallest unit. */
export interface OwedPayment {
  readonly tenantId: string;
  readonly chargeId: string;
  readonly amount: number;
  readonly currency: string;
}

/** Money that went back, in the provider's smallest unit. */
export interface LedgerRefund {
  readonly tenantId: string;
  readonly refundId: string;
  readonly amount: number;
  readonly currency: string;
  /** What it had come in as. */
  readonly account: 'sales' | 'owed_back';
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

/** It is nobody's: all of it goes back. */
export function recordOwed(tx: Tx, { tenantId, chargeId, amount, currency }: OwedPayment): void {
  tx.send(INSERT, [tenantId, 'owed_back', chargeId, 'provider_balance', 'owed_back', amount, currency]);
}

export function recordRefund(tx: Tx, refund: LedgerRefund): void {
  const { tenantId, refundId, amount, currency, account } = refund;
  tx.send(INSERT, [tenantId, 'refund', refundId, account, 'provider_balance', amount, currency]);
}

/** A recorded refund failed afterwards: the money is back. */
export function reverseRefund(tx: Tx, refund: LedgerRefund): void {
  const { tenantId, refundId, amount, currency, account } = refund;
  tx.send(INSERT, [tenantId, 'refund_reversal', refundId, 'provider_balance', account, amount, currency]);
}

const INSERT = statement(
  'ledger_insert',
  `INSERT INTO ledger_entries (tenant_id, kind, subject, debit_account, credit_account, amount, currency)
   VALUES ($1, $2, $3, $4, $5, $6, $7)`,
);
