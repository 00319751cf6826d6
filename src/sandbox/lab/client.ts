import { setTimeout as sleep } from 'node:timers/promises';
import type { DEMO_TENANTS } from '../seed.js';
import type { Cast } from './cast.js';
import { asks, hangs, hears, hearsNothing, type Numbered } from './client-story.js';
import type { Happening } from './events.js';
import { post, type Reply } from './http-client.js';
import type { WatchedKey } from './key-view.js';

/** After this long without an answer a customer clicks again. The request that hangs is left to its fate. */
const PATIENCE_MS = 3_000;

export interface Order {
  readonly tenant: (typeof DEMO_TENANTS)[number];
  readonly card: string;
  readonly ref?: string;
  readonly key: string;
  /** `Sandbox-Fault`: where the service is to break. */
  readonly fault?: string;
}

/** Sends checkouts to the service, and tells what it sends and hears. */
export class Client {
  private readonly unanswered = new Set<Promise<unknown>>();
  private readonly used = new Set<WatchedKey>();
  private requests = 0;

  constructor(
    private readonly url: string,
    /** Marks the orders as this act's. */
    private readonly tag: string,
    private readonly cast: Cast,
    private readonly tell: (happening: Happening) => void,
  ) {}

  /** Requests that nobody waits for any more, and that hang still. */
  get isWaiting(): boolean {
    return this.unanswered.size > 0;
  }

  /** @returns undefined where no answer came, or none in time */
  async send(order: Order): Promise<Reply | undefined> {
    const { tenant, key, fault } = order;
    const watched = this.cast.watch(tenant.id, key);
    const request = { number: ++this.requests, label: watched.label };
    this.tell(asks(request, tenant.name, this.used.has(watched), fault !== undefined));
    this.used.add(watched);
    const answer = this.post(order).then(
      (reply) => {
        this.tell(hears(request, reply));
        return reply;
      },
      (error: Error) => this.tell(hearsNothing(request, error)),
    );
    return this.patiently(answer, request);
  }

  private post({ tenant, key, card, ref, fault }: Order): Promise<Reply> {
    const headers = {
      Authorization: `Bearer ${tenant.apiKey}`,
      'Idempotency-Key': key,
      'Content-Type': 'application/json',
      ...(fault !== undefined && { 'Sandbox-Fault': fault }),
    };
    return post(`${this.url}/v1/checkouts`, headers, {
      currency: 'eur',
      items: [{ sku: 'mug', quantity: 2, unitAmount: 1250 }],
      customer: { email: 'ada@example.com', name: 'Ada' },
      metadata: { lab: this.tag },
      paymentMethod: card,
      ...(ref !== undefined && { externalRef: ref }),
    });
  }

  private async patiently(answer: Promise<Reply | void>, request: Numbered): Promise<Reply | undefined> {
    this.unanswered.add(answer);
    void answer.then(() => this.unanswered.delete(answer));
    const over = new AbortController();
    const impatient = sleep(PATIENCE_MS, 'impatient' as const, { signal: over.signal }).catch(
      () => undefined,
    );
    const first = await Promise.race([answer, impatient]);
    over.abort();
    if (first !== 'impatient') return first ?? undefined;
    this.tell(hangs(request));
    return undefined;
  }
}
