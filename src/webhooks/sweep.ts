import { Injectable } from '@nestjs/common';
import { Inbox } from '../inbox/inbox.js';
import { PROVIDER, type ChargeNews, type RefundNews } from '../payments/payment-event.js';
import { PaymentProvider } from '../payments/payment-provider.js';
import { SweepStore } from './sweep.store.js';

/** `told`: in how many of what differs the inbox had not heard of this state yet. */
export type SweepCounts = Record<'compared' | 'differing' | 'told', number>;

/** The provider tries for three days to deliver an event: what a week did not tell, no event will. */
const DAYS = 7;

const EVERY_SECONDS = 6 * 3_600;

/** What one comparison looks at. */
const BATCH = 100;

/**
 * Compares everything that the provider made in the last days with what we have. Where they differ, the state there
 * goes into the inbox as if an event had told of it, and is applied like one: it settles what waits for it, and
 * becomes a review where it contradicts us, or is of something that we do not know. A state is told once.
 */
@Injectable()
export class Sweep {
  constructor(
    private readonly payments: PaymentProvider,
    private readonly inbox: Inbox,
    private readonly store: SweepStore,
  ) {}

  /** @throws where the provider cannot be asked; the next try is the next process's, when the lease ends */
  async runOnce(signal: AbortSignal = new AbortController().signal): Promise<SweepCounts> {
    const counts: SweepCounts = { compared: 0, differing: 0, told: 0 };
    if (!(await this.store.begin())) return counts;
    const since = new Date(Date.now() - DAYS * 24 * 3_600_000);
    let batch: (ChargeNews | RefundNews)[] = [];
    for await (const news of this.payments.list(since)) {
      if (signal.aborted) return counts;
      if (batch.push(news) < BATCH) continue;
      await this.compare(batch, counts);
      batch = [];
    }
    await this.compare(batch, counts);
    await this.store.end(EVERY_SECONDS);
    return counts;
  }

  private async compare(batch: readonly (ChargeNews | RefundNews)[], counts: SweepCounts): Promise<void> {
    const differing = await this.store.differing(batch);
    counts.compared += batch.length;
    counts.differing += differing.length;
    for (const news of differing) if (await this.tell(news)) counts.told += 1;
  }

  private tell(news: ChargeNews | RefundNews): Promise<boolean> {
    const { tenantId, providerId, outcome } = news;
    const id = `swept:${providerId}:${outcome.status}`;
    return this.inbox.receive({ tenantId, source: PROVIDER, id, payload: { type: 'swept', news } });
  }
}
