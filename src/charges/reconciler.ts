import { Injectable, Logger } from '@nestjs/common';
import { inParallel } from '../background/in-parallel.js';
import { Config } from '../config/config.js';
import { Database } from '../database/transaction.js';
import { openReview } from '../idempotency/open-review.js';
import { Outbox } from '../outbox/outbox.js';
import { PaymentProvider, type ChargeOutcome } from '../payments/payment-provider.js';
import { lockPayment } from './charge.store.js';
import { OpenChargeStore, type OpenCharge } from './open-charge.store.js';
import { settleOpenCharge } from './settlement.js';

/**
 * What became of the charges of one round. `waiting`: still open, or the provider could not be asked;
 * `questioned`: the provider contradicts us, and a review is open; `failed`: see the log.
 */
export type ReconcilerCounts = Record<'claimed' | 'settled' | 'waiting' | 'questioned' | 'failed', number>;

/** Charges of one tenant in one claim. */
const BATCH = 50;

/** Tenants take turns, and the provider is not flooded: at most so many calls are out at once. */
const CALLS_AT_ONCE = 4;

/**
 * Asks the provider what has become of open charges, for events may be lost: the customer authenticated, or never
 * came back, the bank took its time. A payment that nobody completed is canceled at the provider first; where that
 * comes too late, what the provider says instead is adopted. Safe in any number of copies.
 */
@Injectable()
export class Reconciler {
  private readonly logger = new Logger(Reconciler.name);

  constructor(
    private readonly database: Database,
    private readonly store: OpenChargeStore,
    private readonly payments: PaymentProvider,
    private readonly outbox: Outbox,
    private readonly config: Config,
  ) {}

  async runOnce(signal: AbortSignal = new AbortController().signal): Promise<ReconcilerCounts> {
    const counts: ReconcilerCounts = { claimed: 0, settled: 0, waiting: 0, questioned: 0, failed: 0 };
    for (const tenantId of await this.store.tenantsWithDueCharges()) {
      if (signal.aborted) break;
      const charges = await this.store.claim(tenantId, BATCH, this.config.openChargeHours);
      counts.claimed += charges.length;
      await inParallel(CALLS_AT_ONCE, charges, async (charge) => {
        counts[signal.aborted ? 'waiting' : await this.reconcile(charge)] += 1;
      });
    }
    return counts;
  }

  private async reconcile(charge: OpenCharge): Promise<keyof ReconcilerCounts> {
    try {
      return await this.adopt(charge, await this.ask(charge));
    } catch (error) {
      this.logger.warn({ msg: 'charge not reconciled', chargeId: charge.terms.chargeId, err: error });
      return 'failed';
    }
  }

  private ask({ terms, providerId, overdue }: OpenCharge): Promise<ChargeOutcome> {
    return overdue
      ? this.payments.cancelCharge(terms, providerId)
      : this.payments.retrieveCharge(terms, providerId);
  }

  private async adopt(charge: OpenCharge, outcome: ChargeOutcome): Promise<keyof ReconcilerCounts> {
    switch (outcome.status) {
      case 'unknown':
      case 'not_acted':
        return 'waiting';
      case 'contradicted':
        await this.question(charge, outcome.reason);
        return 'questioned';
      default:
        return this.database.transaction(async (tx) => {
          const { tenantId, chargeId } = charge.terms;
          const payment = await lockPayment(tx, tenantId, chargeId);
          if (!payment) throw new Error(`${chargeId} is gone`); // charges are never deleted
          return COUNTED[settleOpenCharge(tx, this.outbox, tenantId, payment, outcome)];
        });
    }
  }

  private async question({ terms, providerId }: OpenCharge, differs: string): Promise<void> {
    const { tenantId, chargeId: id } = terms;
    await this.database.transaction(async (tx) =>
      openReview(tx, {
        tenantId,
        subject: { kind: 'charge', id },
        reason: 'provider_contradicts',
        evidence: { providerId, differs },
      }),
    );
  }
}

const COUNTED = {
  moved: 'settled',
  unchanged: 'waiting',
  unsettled: 'waiting',
  under_review: 'waiting',
  contradicted: 'questioned',
} as const;
