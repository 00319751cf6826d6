import { setTimeout as sleep } from 'node:timers/promises';
import { createCheckoutClient, type CheckoutClient } from '../../src/client/checkout-client.js';
import { newKey } from '../../src/client/keys.js';
import type { Outcome } from '../../src/client/retry-rule.js';
import { ACME } from '../support/start-api.js';

const BODY = {
  currency: 'eur',
  items: [{ sku: 'mug', quantity: 2, unitAmount: 1250 }],
  customer: { email: 'ada@example.com' },
  paymentMethod: 'pm_card_visa',
};

/** What is started anew shares the machine with everything else. */
const PAUSE_MS = 50;

export interface Purchase {
  readonly key: string;
  /** `performance.now()` at its first send, and at its answer. */
  readonly from: number;
  readonly until: number;
  readonly status: number;
  readonly orderId: string;
  readonly chargeId: string;
}

/** Customers who buy one thing after the other, each through the repository's own client, with its own rules for retries. */
export class Load {
  readonly acknowledged: Purchase[] = [];
  /** What the clients tried again after: a status, or `no answer`. */
  readonly retriedAfter: (number | 'no answer')[] = [];
  private readonly client: CheckoutClient;
  private readonly customers: Promise<void>[];
  private stopping = false;
  private failure: Error | undefined;

  constructor(baseUrl: string, customers = 6) {
    this.client = createCheckoutClient({
      baseUrl,
      apiKey: ACME.key,
      onRetry: ({ outcome }) => this.retriedAfter.push(reasonOf(outcome)),
    });
    this.customers = Array.from({ length: customers }, () =>
      this.shop().catch((error: Error) => void (this.failure ??= error)),
    );
  }

  /** Until so many more than now have been answered. */
  async answers(more: number): Promise<void> {
    const enough = this.acknowledged.length + more;
    while (this.acknowledged.length < enough && !this.failure) await sleep(20);
    if (this.failure) throw this.failure;
  }

  /** What has been begun is seen to its end. @throws where a client gave up */
  async stop(): Promise<readonly Purchase[]> {
    this.stopping = true;
    await Promise.all(this.customers);
    if (this.failure) throw this.failure;
    return this.acknowledged;
  }

  private async shop(): Promise<void> {
    while (!this.stopping) {
      const key = newKey();
      const from = performance.now();
      const { data, response } = await this.client.POST('/v1/checkouts', {
        params: { header: { 'Idempotency-Key': key } },
        body: BODY,
      });
      if (!data) throw new Error(`A checkout was answered ${response.status}`);
      const { order, charge } = data;
      const until = performance.now();
      this.acknowledged.push({
        ...{ key, from, until, status: response.status },
        ...{ orderId: order.id, chargeId: charge.id },
      });
      await sleep(PAUSE_MS);
    }
  }
}

function reasonOf(outcome: Outcome): number | 'no answer' {
  return 'response' in outcome ? outcome.response.status : 'no answer';
}

/**
 * What customers notice: for every purchase that was under way when something broke, how long it took from then until its
 * answer. @returns percentiles in milliseconds, and of how many
 */
export function recovery(purchases: readonly Purchase[], broken: readonly number[]) {
  const times = broken
    .flatMap((at) =>
      purchases.filter(({ from, until }) => from < at && until > at).map(({ until }) => until - at),
    )
    .sort((one, other) => one - other);
  const at = (share: number) =>
    Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0);
  return { purchases: times.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

export function report(what: string, { purchases, p50, p99, max }: ReturnType<typeof recovery>): void {
  process.stdout.write(
    `${what}: ${purchases} purchases were under way; answered after p50 ${p50} ms, p99 ${p99} ms, at most ${max} ms\n`,
  );
}
