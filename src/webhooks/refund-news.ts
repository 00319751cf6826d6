import { Injectable } from '@nestjs/common';
import { lockPayment } from '../charges/charge.store.js';
import type { Tx } from '../database/transaction.js';
import { openReview } from '../idempotency/open-review.js';
import { Outbox } from '../outbox/outbox.js';
import type { RefundNews } from '../payments/payment-event.js';
import type { Refund } from '../refunds/refund.js';
import { settleRefund } from '../refunds/refund-settlement.js';
import { lockRefund } from '../refunds/refund.store.js';
import { isSettling, termsThatDiffer, type Told } from './told.js';

/** Applies what the provider says of our refunds. */
@Injectable()
export class RefundNewsHandler {
  constructor(private readonly outbox: Outbox) {}

  async apply(tx: Tx, { id, type, news }: Told<RefundNews>): Promise<void> {
    const { tenantId, refundId, outcome } = news;
    const found = await lockRefund(tx, tenantId, refundId);
    const evidence = { event: id, type, provider: news };
    if (!found) {
      openReview(tx, { tenantId, subject: { kind: 'event', id }, reason: 'refund_unknown', evidence });
      return;
    }
    const differs = await disagreement(tx, found.refund, news);
    if (differs || !isSettling(outcome)) {
      const subject = { kind: 'refund', id: refundId } as const;
      openReview(tx, {
        tenantId,
        subject,
        reason: 'provider_contradicts',
        evidence: { ...evidence, differs },
      });
      return;
    }
    await settleRefund(tx, this.outbox, tenantId, refundId, outcome);
  }
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
