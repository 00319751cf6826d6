import { setTimeout as sleep } from 'node:timers/promises';
import { createCheckoutClient, type CheckoutClient } from '../../src/client/checkout-client.js';
import { newKey } from '../../src/client/keys.js';
import type { RetryPolicy } from '../../src/client/retry-policy.js';
import type { Outcome } from '../../src/client/retry-rule.js';
import { ACME } from '../support/start-api.js';

const BODY = {
  currency: 'eur',
  items: [{ sku: 'mug', quantity: 2, unitAmount: 1250 }],
  customer: { email: 'ada@example.com' },
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
  readonly paymentMethod: string;
  readonly reply: unknown;
}

export interface LoadOptions extends Partial<RetryPolicy> {
  readonly customers?: number;
  /** Each customer pays with the next of these in turn. */
  readonly cards?: readonly string[];
}

/** Customers who buy one thing after the other, each through the repository's own client, with its own rules for retries. */
export class Load {
  readonly acknowledged: Purchase[] = [];
  /** What the clients tried again after: a status, or `no answer`. */
  readonly retriedAfter: (number | 'no answer')[] = [];
  private readonly customers: Promise<void>[];
  private stopping = false;
  private failure: Error | undefined;

  /** @param baseUrls customers are spread over them */
  constructor(
    baseUrls: string | readonly string[],
    { customers = 6, cards = ['pm_card_visa'], ...policy }: LoadOptions = {},
  ) {
    const urls = [baseUrls].flat();
    const clients = urls.map((baseUrl) =>
      createCheckoutClient({
        ...{ ...policy, baseUrl, apiKey: ACME.key },
        onRetry: ({ outcome }) => this.retriedAfter.push(reasonOf(outcome)),
      }),
    );
    this.customers = Array.from({ length: customers }, (_, index) =>
      this.shop(clients[index % urls.length]!, cards).catch((error: Error) => void (this.failure ??= error)),
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

  private async shop(client: CheckoutClient, cards: readonly string[]): Promise<void> {
    for (let count = 0; !this.stopping; count++) {
      const intent = { key: newKey(), paymentMethod: cards[count % cards.length]! };
      const from = performance.now();
      const answer = await buy(client, intent);
      this.acknowledged.push({ ...intent, ...answer, from, until: performance.now() });
      await sleep(PAUSE_MS);
    }
  }
}

/** Sends the purchase again, wherever. @returns what it was answered */
export async function replayOf(baseUrl: string, purchase: Purchase): Promise<unknown> {
  const { reply } = await buy(createCheckoutClient({ baseUrl, apiKey: ACME.key }), purchase);
  return reply;
}

/** @throws where it was answered neither that it is paid nor that the card was declined */
async function buy(client: CheckoutClient, { key, paymentMethod }: Pick<Purchase, 'key' | 'paymentMethod'>) {
  const { data, error, response } = await client.POST('/v1/checkouts', {
    params: { header: { 'Idempotency-Key': key } },
    body: { ...BODY, paymentMethod },
  });
  const { status } = response;
  if (data) return { status, orderId: data.order.id, chargeId: data.charge.id, reply: data };
  if (status !== 402) throw new Error(`A checkout was answered ${status}`);
  const declined = error as unknown as { orderId: string; error: { charge: string } };
  return { status, orderId: declined.orderId, chargeId: declined.error.charge, reply: error };
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
