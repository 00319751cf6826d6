import { Injectable, Logger } from '@nestjs/common';
import { Database } from '../database/transaction.js';
import { Outbox } from '../outbox/outbox.js';
import { PaymentProvider } from '../payments/payment-provider.js';
import { adopt, pollRound, type Answered, type PollCounts, type Polled } from '../payments/polling.js';
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

  async poll({ terms, providerId }: OpenRefund): Promise<Answered> {
    const { tenantId, refundId: id } = terms;
    const outcome = await this.payments.retrieveRefund(terms, providerId);
    return adopt(
      this.database,
      { tenantId, kind: 'refund', id, providerId },
      outcome,
      async (tx, settled) => {
        const { result } = await settleRefund(tx, this.outbox, tenantId, id, settled);
        return result === 'moved' ? 'settled' : 'waiting';
      },
    );
  }

  failed({ terms: { refundId } }: OpenRefund, error: unknown): void {
    this.logger.warn({ msg: 'refund not reconciled', refundId, err: error });
  }
}
