import { Injectable } from '@nestjs/common';
import { Inbox } from '../inbox/inbox.js';
import type { ChargeNews, RefundNews } from '../payments/payment-event.js';
import { PaymentProvider } from '../payments/payment-provider.js';
import { Confirmations, type ConfirmationCounts } from './confirmations.js';
import { SweepStore } from './sweep.store.js';
import { tellSwept } from './swept.js';

/** `told`: in how many of what differs the inbox had not heard of this state yet. */
type ComparisonCounts = Record<'compared' | 'differing' | 'told', number>;

export type SweepCounts = ComparisonCounts & ConfirmationCounts;

/** The provider tries for three days to deliver an event: what a week did not tell, no event will. */
const DAYS = 7;

const EVERY_SECONDS = 6 * 3_600;

/** What one comparison looks at. */
const BATCH = 100;

/**
 * Compares everything that the provider made in the last days with what we have. Where they differ, the state there
 * goes into the inbox as if an event had told of it, and is applied like one: it settles what waits for it, and
 * becomes a review where it contradicts us, or is of something that we do not know. A state is told once.
 * Then the other way round: what we hold for made and was never seen there is asked about by its name.
 */
@Injectable()
export class Sweep {
  constructor(
    private readonly payments: PaymentProvider,
    private readonly inbox: Inbox,
    private readonly store: SweepStore,
    private readonly confirmations: Confirmations,
  ) {}

  /** @throws where the provider cannot be asked; the next try is the next process's, when the lease ends */
  async runOnce(signal: AbortSignal = new AbortController().signal): Promise<SweepCounts> {
    const counts = { compared: 0, differing: 0, told: 0, asked: 0, questioned: 0 };
    const begun = await this.store.begin();
    if (begun === undefined) return counts;
    await this.compareAll(counts, signal);
    if (!signal.aborted) Object.assign(counts, await this.confirmations.seek(begun, signal));
    if (!signal.aborted) await this.store.end(EVERY_SECONDS);
    return counts;
  }

  private async compareAll(counts: ComparisonCounts, signal: AbortSignal): Promise<void> {
    const since = new Date(Date.now() - DAYS * 24 * 3_600_000);
    let batch: (ChargeNews | RefundNews)[] = [];
    for await (const news of this.payments.list(since)) {
      if (signal.aborted) return;
      if (batch.push(news) < BATCH) continue;
      await this.compare(batch, counts);
      batch = [];
    }
    await this.compare(batch, counts);
  }

  private async compare(
    batch: readonly (ChargeNews | RefundNews)[],
    counts: ComparisonCounts,
  ): Promise<void> {
    const [differing] = await Promise.all([this.store.differing(batch), this.store.confirm(batch)]);
    counts.compared += batch.length;
    counts.differing += differing.length;
    for (const news of differing) if (await tellSwept(this.inbox, news)) counts.told += 1;
  }
}
