import type { Payment } from '../charges/payment.js';
import type { Tx } from '../database/transaction.js';
import { orderRefunded, orderRefundReversed, type RefundData } from '../events/event-message.js';
import { openReview } from '../idempotency/open-review.js';
import { recordRefund, reverseRefund, type LedgerRefund } from '../ledger/ledger.js';
import { ERASED_EMAIL } from '../orders/order.js';
import type { Outbox } from '../outbox/outbox.js';
import { refundReceiptFor } from '../receipts/refund-receipt-message.js';
import type { Refund, RefundStatus, SettledRefundOutcome } from './refund.js';
import { giveBack, lockRefund, moveRefund, reserve } from './refund.store.js';
import { mayMove } from './refund-transitions.js';

export interface RefundSettlement {
  /** As it is now. */
  readonly refund: Refund;
  /**
   * `unchanged`: it was there already. `made_after_all`: it had counted as not made, and is taken up again, which a
   * person should hear of. `refused`: it is past that, and stays what it is.
   */
  readonly result: 'moved' | 'unchanged' | 'made_after_all' | 'refused';
}

/**
 * What the provider says of a refund, whoever was told: the call, a webhook, a look-up. The move and all that follows
 * from it are one transaction: the amount that comes back, the ledger row, the staged receipt. May be repeated, and
 * come in any order.
 * @throws where the tenant has no such refund, or the provider speaks of another one than before
 */
export async function settleRefund(
  tx: Tx,
  outbox: Outbox,
  tenantId: string,
  refundId: string,
  outcome: SettledRefundOutcome,
): Promise<RefundSettlement> {
  const found = await lockRefund(tx, tenantId, refundId);
  if (!found) throw new Error(`There is no refund ${refundId}`);
  const { refund: before } = found;
  const after = settled(before, outcome);
  if (before.status === after.status) {
    if (before.providerId !== after.providerId) moveRefund(tx, tenantId, before.status, after);
    return { refund: after, result: 'unchanged' };
  }
  const madeAfterAll = isMadeAfterAll(found, after);
  if (!madeAfterAll && !mayMove(before.status, after.status)) return { refund: before, result: 'refused' };
  if (madeAfterAll) reserve(tx, tenantId, found, after);
  moveRefund(tx, tenantId, before.status, after);
  if (after.status === 'succeeded') complete(tx, outbox, tenantId, found, after);
  if (isOver(after.status)) undo(tx, outbox, tenantId, found, after, before.status);
  return { refund: after, result: madeAfterAll ? 'made_after_all' : 'moved' };
}

/** The provider knows a refund that we had counted as never made, and its amount is still there to be taken. */
function isMadeAfterAll(
  { charge, refund: before }: Payment & { readonly refund: Refund },
  after: Refund,
): boolean {
  const neverMade = before.status === 'failed' && before.providerId === undefined;
  return neverMade && !isOver(after.status) && charge.amount - charge.amountRefunded >= after.amount;
}

/** A request that the provider refused is a refund that failed, unless it has made that refund before. */
function settled(refund: Refund, outcome: SettledRefundOutcome): Refund {
  if (outcome.status === 'rejected')
    return refund.providerId === undefined ? { ...refund, status: 'failed' } : refund;
  const { status, providerId } = outcome;
  if (refund.providerId !== undefined && refund.providerId !== providerId)
    throw new Error(`${refund.id} is ${refund.providerId} at the provider, and not ${providerId}`);
  return { ...refund, status, providerId };
}

/** The money is on its way back: the ledger row, the receipt and the event belong to that moment. */
function complete(tx: Tx, outbox: Outbox, tenantId: string, payment: Payment, refund: Refund): void {
  const { id: refundId, chargeId, amount, currency } = refund;
  const { order } = payment;
  recordRefund(tx, inLedger(tenantId, payment, refund));
  if (!payment.charge.owedBack) outbox.add(tx, orderRefunded(tenantId, dataOf(order.id, refund)));
  if (order.customer.email === ERASED_EMAIL) return; // there is nobody left to tell
  outbox.add(
    tx,
    refundReceiptFor(tenantId, {
      refundId,
      chargeId,
      orderId: order.id,
      amount,
      currency,
      ...order.customer,
    }),
  );
}

/** The money did not go, or came back. What the ledger says of it already is not taken out, but reversed. */
function undo(
  tx: Tx,
  outbox: Outbox,
  tenantId: string,
  payment: Payment,
  refund: Refund,
  was: RefundStatus,
): void {
  giveBack(tx, tenantId, payment, refund);
  if (payment.charge.owedBack) tellOfDebt(tx, tenantId, payment, refund);
  if (was !== 'succeeded') return;
  reverseRefund(tx, inLedger(tenantId, payment, refund));
  const { order, charge } = payment;
  if (!charge.owedBack) outbox.add(tx, orderRefundReversed(tenantId, dataOf(order.id, refund)));
}

/** Nobody asked for this refund, so nobody would miss it: the money is the customer's, and still here. */
function tellOfDebt(tx: Tx, tenantId: string, { charge }: Payment, { id, providerId, amount }: Refund): void {
  openReview(tx, {
    tenantId,
    subject: { kind: 'charge', id: charge.id },
    reason: 'still_owed_back',
    evidence: { refundId: id, refund: providerId ?? null, providerId: charge.providerId ?? null, amount },
  });
}

/** Of a charge whose money was owed back nobody hears: it has not paid its order, and was told of as failed. */
function dataOf(orderId: string, { chargeId, id: refundId, amount, currency }: Refund): RefundData {
  return { orderId, chargeId, refundId, amount, currency };
}

function inLedger(tenantId: string, { charge }: Payment, refund: Refund): LedgerRefund {
  const { id: refundId, amount, currency } = refund;
  return { tenantId, refundId, amount, currency, account: charge.owedBack ? 'owed_back' : 'sales' };
}

function isOver(status: RefundStatus): boolean {
  return status === 'failed' || status === 'canceled';
}
