import { Injectable } from '@nestjs/common';
import { lockPayment } from '../charges/charge.store.js';
import type { Tx } from '../database/transaction.js';
import { Outbox } from '../outbox/outbox.js';
import type { RefundNews } from '../payments/payment-event.js';
import { isSettling } from '../payments/payment-provider.js';
import type { Refund } from '../refunds/refund.js';
import { settleRefund } from '../refunds/refund-settlement.js';
import { lockRefund } from '../refunds/refund.store.js';
import { question, termsThatDiffer, type Told } from './told.js';

/** Applies what the provider says of our refunds. */
@Injectable()
export class RefundNewsHandler {
  constructor(private readonly outbox: Outbox) {}

  async apply(tx: Tx, told: Told<RefundNews>): Promise<void> {
    const { tenantId, refundId, outcome } = told.news;
    const found = await lockRefund(tx, tenantId, refundId);
    if (!found) {
      question(tx, told, { subject: { kind: 'event', id: told.id }, reason: 'refund_unknown' });
      return;
    }
    const differs = await disagreement(tx, found.refund, told.news);
    if (differs !== undefined || !isSettling(outcome)) {
      const subject = { kind: 'refund', id: refundId } as const;
      question(tx, told, { subject, reason: 'provider_contradicts', differs });
      return;
    }
    const { result, refund } = await settleRefund(tx, this.outbox, tenantId, refundId, outcome);
    if (result === 'made_after_all' || (result === 'refused' && isMade(refund, outcome.status))) {
      question(tx, told, { subject: { kind: 'refund', id: refundId }, reason: 'refunded_after_all' });
    }
  }
}

/**
 * Whether money goes back although we said that none would. A refund that failed after it had been made is none of
 * these: news of its better days may just come late.
 */
function isMade({ status, providerId }: Refund, theirs: string): boolean {
  const ended = theirs === 'failed' || theirs === 'canceled';
  return !ended && (providerId === undefined || (status === 'canceled' && theirs === 'succeeded'));
}

/** In what the provider's refund is not the one that was asked for; undefined where it is. */
async function disagreement(tx: Tx, refund: Refund, news: RefundNews): Promise<string | undefined> {
  const payment = await lockPayment(tx, news.tenantId, refund.chargeId);
  return termsThatDiffer([
    ['amount', refund.amount, news.amount],
    ['currency', refund.currency, news.currency],
    ['payment', payment?.charge.providerId, news.paymentId],
    ['refund', refund.providerId ?? news.providerId, news.providerId],
  ]);
}
