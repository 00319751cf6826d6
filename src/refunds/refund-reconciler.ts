import { Injectable, Logger } from '@nestjs/common';
import { Database } from '../database/transaction.js';
import { askPerson } from '../idempotency/open-review.js';
import { Outbox } from '../outbox/outbox.js';
import { PaymentProvider, type RefundOutcome } from '../payments/payment-provider.js';
import { pollRound, type Answered, type PollCounts, type Polled } from '../payments/polling.js';
import { OpenRefundStore, type OpenRefund } from './open-refund.store.js';
import { settleRefund } from './refund-settlement.js';

/** Asks the provider what has become of refunds that were not made at once, for events may be lost. */
@Injectable()
export class RefundReconciler implements Polled<OpenRefund> {
  private readonly logger = new Logger(RefundReconciler.name);

  constructor(
    private readonly database: Database,
    private readonly store: OpenRefundStore,
    private readonly payments: PaymentProvider,
    private readonly outbox: Outbox,
  ) {}

  runOnce(signal: AbortSignal = new AbortController().signal): Promise<PollCounts> {
    return pollRound(this, signal);
  }

  tenantsWithDue(): Promise<string[]> {
    return this.store.tenantsWithDue();
  }

  claim(tenantId: string, limit: number): Promise<OpenRefund[]> {
    return this.store.claim(tenantId, limit);
  }

  async poll(refund: OpenRefund): Promise<Answered> {
    return this.adopt(refund, await this.payments.retrieveRefund(refund.terms, refund.providerId));
  }

  failed({ terms: { refundId } }: OpenRefund, error: unknown): void {
    this.logger.warn({ msg: 'refund not reconciled', refundId, err: error });
  }

  private async adopt({ terms, providerId }: OpenRefund, outcome: RefundOutcome): Promise<Answered> {
    const { tenantId, refundId: id } = terms;
    switch (outcome.status) {
      case 'unknown':
      case 'not_acted':
        return 'waiting';
      case 'contradicted':
        await askPerson(this.database, {
          tenantId,
          subject: { kind: 'refund', id },
          reason: 'provider_contradicts',
          evidence: { providerId, differs: outcome.reason },
        });
        return 'questioned';
      default:
        return this.database.transaction(async (tx) => {
          const { result } = await settleRefund(tx, this.outbox, tenantId, id, outcome);
          return result === 'moved' ? 'settled' : 'waiting';
        });
    }
  }
}
