import type { Tx } from '../database/transaction.js';
import { openReview } from '../idempotency/open-review.js';
import type { Outbox } from '../outbox/outbox.js';
import { hasEnded, isUnsettled, settled, type Charge, type SettledOutcome } from './charge.js';
import { contradicts, mayMove } from './charge-transitions.js';
import { oweBack } from './owed-back.js';
import { completePayment, saveUnpaid, type Payment } from './payment.js';

/**
 * - `moved`: and everything that follows from it is written. `unchanged`: we knew, or know more.
 * - `contradicted`: both cannot be true; a review is open, and nothing was applied.
 * - `owed_back`: money came in for a charge that had ended; it is on its way back, and a review is open.
 * - `unsettled`: its key is not finished, and has to hear of it first. `under_review`: a person has to decide first.
 */
export type Settlement = 'moved' | 'unchanged' | 'contradicted' | 'owed_back' | 'unsettled' | 'under_review';

/**
 * What became of a charge after its key was answered: the customer authenticated, or did not, the bank took its time.
 * The move and all that follows are one transaction: paid order, ledger row, staged receipt; or an order that is free
 * to be paid anew. May be repeated, and come in any order.
 * @param payment as `lockPayment` gave it
 */
export function settleOpenCharge(
  tx: Tx,
  outbox: Outbox,
  tenantId: string,
  { order, charge: before }: Payment,
  outcome: SettledOutcome,
): Settlement {
  if (isUnsettled(before)) return 'unsettled';
  if (before.status === 'review') return 'under_review';
  const after = settled(before, outcome);
  if (isAnother(before, after) || contradicts(before.status, after.status)) {
    ask(tx, tenantId, before, after);
    return 'contradicted';
  }
  if (after.status === 'succeeded' && (hasEnded(before) || order.status === 'canceled'))
    return paidForNothing(tx, outbox, tenantId, before, after);
  if (!mayMove(before.status, after.status)) return 'unchanged';
  if (after.status === 'succeeded')
    completePayment(tx, outbox, tenantId, { order, charge: after }, [before.status]);
  else saveUnpaid(tx, outbox, tenantId, after, [before.status]);
  return 'moved';
}

/** Nobody waits for this money any more: it goes back, and a person hears of it. */
function paidForNothing(tx: Tx, outbox: Outbox, tenantId: string, before: Charge, after: Charge): Settlement {
  if (before.owedBack) return 'unchanged';
  if (!hasEnded(before)) saveUnpaid(tx, outbox, tenantId, { ...after, status: 'canceled' }, [before.status]);
  oweBack(tx, tenantId, after);
  ask(tx, tenantId, before, after);
  return 'owed_back';
}

/** One charge is one payment at the provider; a second one may be a second charge. */
function isAnother(before: Charge, after: Charge): boolean {
  return before.providerId !== undefined && after.providerId !== before.providerId;
}

function ask(tx: Tx, tenantId: string, ours: Charge, theirs: Charge): void {
  openReview(tx, {
    tenantId,
    subject: { kind: 'charge', id: ours.id },
    reason: theirs.status === 'succeeded' ? 'charged_after_all' : 'provider_contradicts',
    evidence: {
      orderId: ours.orderId,
      ours: { status: ours.status, providerId: ours.providerId ?? null },
      provider: { status: theirs.status, providerId: theirs.providerId ?? null },
    },
  });
}
