import { lockPayment } from '../charges/charge.store.js';
import type { Payment } from '../charges/payment.js';
import { changesOneRow, statement } from '../database/statement.js';
import type { Tx } from '../database/transaction.js';
import { RefundEntity, toRefund } from './refund.entity.js';
import { isRefundId, type Refund, type RefundStatus } from './refund.js';

/*
 * Locks are taken in one order everywhere: the order, then its charge, then the refund. Whoever holds the order is
 * alone with all its refunds, so what is read after that is true until the transaction ends.
 */

/** Locks the order of a refund. @returns undefined where the tenant has no such refund */
export async function lockRefund(
  tx: Tx,
  tenantId: string,
  id: string,
): Promise<(Payment & { readonly refund: Refund }) | undefined> {
  const found = isRefundId(id) && (await tx.managerFor(tenantId).findOneBy(RefundEntity, { tenantId, id }));
  const payment = found && (await lockPayment(tx, tenantId, found.chargeId));
  if (!payment) return undefined;
  const refund = await tx.managerFor(tenantId).findOneByOrFail(RefundEntity, { tenantId, id });
  return { ...payment, refund: toRefund(refund) };
}

/*
 * A charge whose money is owed back has not paid its order: what is refunded of it is no matter of the order's.
 */

/**
 * Records the intent to refund and takes its amount from what is left of the charge, before the provider is asked.
 * @throws UnexpectedRowCount at commit, if so much is not left
 */
export function reserveRefund(
  tx: Tx,
  tenantId: string,
  payment: Payment,
  refund: Refund,
  derivedKey: string,
): void {
  const { id, chargeId, status, amount, currency, reason, createdAt } = refund;
  reserve(tx, tenantId, payment, refund);
  tx.send(INSERT, [tenantId, id, chargeId, status, amount, currency, reason ?? null, derivedKey, createdAt]);
}

/** Takes the amount of a refund from what is left. @throws UnexpectedRowCount at commit, if so much is not left */
export function reserve(tx: Tx, tenantId: string, { order, charge }: Payment, { amount }: Refund): void {
  if (!charge.owedBack) tx.sendOne(RESERVE_ON_ORDER, [tenantId, order.id, amount]);
  tx.sendOne(RESERVE_ON_CHARGE, [tenantId, charge.id, amount]);
}

/** The money stays with us after all: what was reserved for the refund can be refunded again. */
export function giveBack(
  tx: Tx,
  tenantId: string,
  { order, charge }: Payment,
  { chargeId, amount }: Refund,
): void {
  if (!charge.owedBack) tx.sendOne(GIVE_BACK_ON_ORDER, [tenantId, order.id, amount]);
  tx.sendOne(GIVE_BACK_ON_CHARGE, [tenantId, chargeId, amount]);
}

/** @throws UnexpectedRowCount at commit, unless the refund is still `from` */
export function moveRefund(tx: Tx, tenantId: string, from: RefundStatus, refund: Refund): void {
  tx.sendOne(MOVE, [tenantId, refund.id, from, refund.status, refund.providerId ?? null]);
}

const RESERVE_ON_ORDER = changesOneRow(
  'order_reserve_refund',
  `UPDATE orders SET amount_refunded = amount_refunded + $3, version = version + 1
   WHERE tenant_id = $1 AND id = $2 AND status = 'paid' AND amount_refunded + $3 <= amount`,
);

const RESERVE_ON_CHARGE = changesOneRow(
  'charge_reserve_refund',
  `UPDATE charges SET amount_refunded = amount_refunded + $3
   WHERE tenant_id = $1 AND id = $2 AND (status = 'succeeded' OR owed_back) AND amount_refunded + $3 <= amount`,
);

const GIVE_BACK_ON_ORDER = changesOneRow(
  'order_give_back_refund',
  `UPDATE orders SET amount_refunded = amount_refunded - $3, version = version + 1
   WHERE tenant_id = $1 AND id = $2 AND amount_refunded >= $3`,
);

const GIVE_BACK_ON_CHARGE = changesOneRow(
  'charge_give_back_refund',
  `UPDATE charges SET amount_refunded = amount_refunded - $3
   WHERE tenant_id = $1 AND id = $2 AND amount_refunded >= $3`,
);

const INSERT = statement(
  'refund_insert',
  `INSERT INTO refunds (tenant_id, id, charge_id, status, amount, currency, reason, derived_key, created_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);

/** Where it is open now, an event will tell what became of it; the provider is asked once that should have come. */
const MOVE = changesOneRow(
  'refund_move',
  `UPDATE refunds SET status = $4, provider_id = $5, next_poll_at = now() + interval '30 seconds'
   WHERE tenant_id = $1 AND id = $2 AND status = $3`,
);
