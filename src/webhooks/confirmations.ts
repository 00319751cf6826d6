import { Injectable } from '@nestjs/common';
import { inParallel } from '../background/in-parallel.js';
import { Database } from '../database/transaction.js';
import { openReview } from '../idempotency/open-review.js';
import { Inbox } from '../inbox/inbox.js';
import { PaymentProvider, type ChargeOutcome, type RefundOutcome } from '../payments/payment-provider.js';
import { ConfirmationStore, type About, type Unconfirmed } from './confirmation.store.js';
import { tellSwept } from './swept.js';

/** `asked`: what the provider was asked about by its name; `questioned`: for how much of it a review is open now. */
export type ConfirmationCounts = Record<'asked' | 'questioned', number>;

/** What is in memory at a time. */
const BATCH = 100;

/** The provider serves clients' payments besides. */
const CALLS_AT_ONCE = 4;

/** An outage is not worth a call for each row; fewer may be single objects that cannot be read. */
const MOST_UNANSWERED = 20;

/**
 * What we hold for paid or refunded, and the provider did not list. A list may lag behind and has an edge, so the
 * provider is asked about each by its name; only where it then says that there is no such thing, or that it did not
 * succeed, a person is asked. Once either is known it is not asked about again. Safe to repeat, in any number of
 * copies: what is confirmed is noted row by row.
 */
@Injectable()
export class Confirmations {
  constructor(
    private readonly database: Database,
    private readonly payments: PaymentProvider,
    private readonly inbox: Inbox,
    private readonly store: ConfirmationStore,
  ) {}

  /**
   * @param before what is younger, the list may have been too early for
   * @throws where the provider cannot be asked
   */
  async seek(before: string, signal: AbortSignal): Promise<ConfirmationCounts> {
    const round = { counts: { asked: 0, questioned: 0 }, unanswered: 0, before, signal };
    for (const about of ['charge', 'refund'] as const)
      for (const tenantId of await this.store.tenants(about)) await this.seekThose(about, tenantId, round);
    return round.counts;
  }

  private async seekThose(about: About, tenantId: string, round: Round): Promise<void> {
    let batch: Unconfirmed[] = [];
    do {
      const { before, signal } = round;
      if (signal.aborted) return;
      batch = await this.store.read(about, tenantId, { before, after: batch.at(-1), limit: BATCH });
      await inParallel(CALLS_AT_ONCE, batch, async (held) => {
        if (!signal.aborted) await this.adopt(held, await this.ask(held), round);
      });
    } while (batch.length === BATCH);
  }

  private ask(held: Unconfirmed): Promise<ChargeOutcome | RefundOutcome> {
    return held.about === 'charge'
      ? this.payments.retrieveCharge(held.terms, held.providerId)
      : this.payments.retrieveRefund(held.terms, held.providerId);
  }

  private async adopt(
    held: Unconfirmed,
    outcome: ChargeOutcome | RefundOutcome,
    round: Round,
  ): Promise<void> {
    round.counts.asked += 1;
    switch (outcome.status) {
      case 'succeeded':
        await this.database.transaction((tx) => this.store.confirm(tx, held));
        return;
      case 'unknown':
      case 'not_acted':
        if (++round.unanswered < MOST_UNANSWERED) return;
        throw new Error(`The provider cannot be asked: ${outcome.reason}`);
      default:
        if (held.about === 'refund' && outcome.status === 'failed') return this.tellFailed(held, outcome);
        if (await this.question(held, outcome)) round.counts.questioned += 1;
    }
  }

  /** The bank sent it back after we had heard that it was made: no contradiction, but news. */
  private async tellFailed(held: Unconfirmed & { about: 'refund' }, outcome: RefundOutcome): Promise<void> {
    const { tenantId, refundId, providerId: paymentId, amount, currency } = held.terms;
    const { providerId } = held;
    const news = {
      about: 'refund',
      tenantId,
      refundId,
      providerId,
      paymentId,
      amount,
      currency,
      outcome,
    } as const;
    await tellSwept(this.inbox, news);
  }

  /** The question and the note that it was asked are one transaction. @returns false where it was asked meanwhile */
  private question(held: Unconfirmed, outcome: ChargeOutcome | RefundOutcome): Promise<boolean> {
    const { about, tenantId, id, providerId, terms } = held;
    const absent = outcome.status === 'contradicted' && outcome.absent === true;
    return this.database.transaction(async (tx) => {
      if (!(await this.store.confirm(tx, held))) return false;
      openReview(tx, {
        tenantId,
        subject: { kind: about, id },
        reason: absent ? 'unknown_to_provider' : 'provider_contradicts',
        evidence: {
          providerId,
          ours: { status: 'succeeded', amount: terms.amount, currency: terms.currency },
          differs: 'reason' in outcome ? outcome.reason : `${providerId} is ${outcome.status}`,
        },
      });
      return true;
    });
  }
}

interface Round {
  readonly counts: ConfirmationCounts;
  unanswered: number;
  readonly before: string;
  readonly signal: AbortSignal;
}
