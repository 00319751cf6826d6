import { Injectable, Logger } from '@nestjs/common';
import { Config } from '../config/config.js';
import { Database } from '../database/transaction.js';
import { Outbox } from '../outbox/outbox.js';
import { PaymentProvider, type ChargeOutcome } from '../payments/payment-provider.js';
import { adopt, pollRound, type Answered, type PollCounts, type Polled } from '../payments/polling.js';
import { lockPayment } from './charge.store.js';
import { OpenChargeStore, type OpenCharge } from './open-charge.store.js';
import { settleOpenCharge } from './settlement.js';

/**
 * Asks the provider what has become of open charges, for events may be lost: the customer authenticated, or never
 * came back, the bank took its time. A payment that nobody completed is canceled at the provider first; where that
 * comes too late, what the provider says instead is adopted.
 */
@Injectable()
export class Reconciler implements Polled<OpenCharge> {
  private readonly logger = new Logger(Reconciler.name);

  constructor(
    private readonly database: Database,
    private readonly store: OpenChargeStore,
    private readonly payments: PaymentProvider,
    private readonly outbox: Outbox,
    private readonly config: Config,
  ) {}

  runOnce(signal: AbortSignal = new AbortController().signal): Promise<PollCounts> {
    return pollRound(this, signal);
  }

  tenantsWithDue(): Promise<string[]> {
    return this.store.tenantsWithDue();
  }

  claim(tenantId: string, limit: number): Promise<OpenCharge[]> {
    return this.store.claim(tenantId, limit, this.config.openChargeHours);
  }

  async poll(charge: OpenCharge): Promise<Answered> {
    const { terms, providerId } = charge;
    const { tenantId, chargeId: id } = terms;
    const outcome = await this.ask(charge);
    return adopt(
      this.database,
      { tenantId, kind: 'charge', id, providerId },
      outcome,
      async (tx, settled) => {
        const payment = await lockPayment(tx, tenantId, id);
        if (!payment) throw new Error(`${id} is gone`); // charges are never deleted
        return COUNTED[settleOpenCharge(tx, this.outbox, tenantId, payment, settled)];
      },
    );
  }

  failed({ terms: { chargeId } }: OpenCharge, error: unknown): void {
    this.logger.warn({ msg: 'charge not reconciled', chargeId, err: error });
  }

  private ask({ terms, providerId, overdue }: OpenCharge): Promise<ChargeOutcome> {
    return overdue
      ? this.payments.cancelCharge(terms, providerId)
      : this.payments.retrieveCharge(terms, providerId);
  }
}

const COUNTED = {
  moved: 'settled',
  unchanged: 'waiting',
  unsettled: 'waiting',
  under_review: 'waiting',
  contradicted: 'questioned',
  owed_back: 'questioned',
} as const;
