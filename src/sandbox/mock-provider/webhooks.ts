import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Event } from './events.js';
import type { Faults } from './faults.js';
import { secondsNow } from './objects.js';
import { invalidRequest } from './provider-error.js';
import type { Traffic } from './traffic.js';

/** Where events are sent, and what they are signed with. */
export interface Endpoint {
  readonly url: string;
  readonly secret: string;
}

/** A receiver that takes longer has failed. */
const TIMEOUT_MS = 10_000;

/** Stripe goes on for three days; at a laptop nobody waits for hours. Seconds: 1, 2, 4 … 60, about a day in all. */
const LONGEST_PAUSE_MS = 60_000;
const MAX_TRIES = 1_500;

/** As many at once as one receiver is asked to bear. */
const DELIVERIES_AT_ONCE = 32;

/** How long a held-back event waits for the one that is to overtake it. */
const OVERTAKEN_WITHIN_MS = 2_000;

/**
 * Sends events to the one endpoint there is, signed as Stripe signs them, and again until it answers 2xx. Nobody
 * waits for that: `send` only queues. What is queued is forgotten with the process, as events may be lost.
 */
export class Webhooks {
  /** Each item is sent in its order; the items overtake one another. */
  private readonly queue: Event[][] = [];
  private readonly closing = new AbortController();
  private sending = 0;
  private held: { readonly event: Event; readonly timer: NodeJS.Timeout } | undefined;

  constructor(
    private readonly faults: Faults,
    private readonly traffic: Traffic,
    private endpoint?: Endpoint,
  ) {}

  /** @param body `{ url, secret }` @throws ProviderError 400 */
  register(body: unknown): void {
    const { url, secret } = (body ?? {}) as Record<string, unknown>;
    if (typeof url !== 'string' || !URL.canParse(url))
      throw invalidRequest('url must be a URL.', undefined, 'url');
    if (typeof secret !== 'string' || secret === '')
      throw invalidRequest('secret must be a text.', undefined, 'secret');
    this.endpoint = { url, secret };
  }

  send(event: Event): void {
    if (!this.endpoint) return;
    const fault = this.faults.takeForWebhook();
    switch (fault?.kind) {
      case 'webhook_drop':
        return;
      case 'webhook_delay':
        setTimeout(() => this.enqueue(event), fault.delayMs).unref();
        return;
      case 'webhook_reorder':
        this.hold(event, fault.delayMs || OVERTAKEN_WITHIN_MS);
        return;
      case 'webhook_duplicate':
        this.enqueue(event);
        this.enqueue(event);
        return;
      default:
        this.enqueue(event, ...this.takeHeld());
    }
  }

  /** What is not sent by now is not sent. */
  close(): void {
    this.closing.abort();
    clearTimeout(this.held?.timer);
  }

  /** Until the next event has been sent; if none comes, until `ms` have passed. */
  private hold(event: Event, ms: number): void {
    this.enqueue(...this.takeHeld());
    const timer = setTimeout(() => this.enqueue(...this.takeHeld()), ms);
    timer.unref();
    this.held = { event, timer };
  }

  private takeHeld(): Event[] {
    const { held } = this;
    this.held = undefined;
    if (!held) return [];
    clearTimeout(held.timer);
    return [held.event];
  }

  private enqueue(...events: Event[]): void {
    this.queue.push(events);
    if (this.sending >= DELIVERIES_AT_ONCE) return;
    this.sending += 1;
    setImmediate(() => void this.work()); // after the answer of the call that brought it about
  }

  private async work(): Promise<void> {
    for (
      let events = this.queue.shift();
      events && !this.closing.signal.aborted;
      events = this.queue.shift()
    ) {
      for (const event of events) if (!(await this.deliver(event))) void this.again(event, 1);
    }
    this.sending -= 1;
  }

  /** Beside the queue, which an endpoint that refuses one event must not stop. */
  private async again(event: Event, tries: number): Promise<void> {
    if (tries >= MAX_TRIES || this.closing.signal.aborted) return;
    await sleep(Math.min(LONGEST_PAUSE_MS, 500 * 2 ** tries), undefined, { ref: false });
    if (!(await this.deliver(event))) await this.again(event, tries + 1);
  }

  private async deliver(event: Event): Promise<boolean> {
    const { url, secret } = this.endpoint!;
    const body = JSON.stringify(event);
    const orderId = event.data.object.metadata['order_id'] ?? null;
    const to = this.traffic.note({ kind: 'told', event: event.type, orderId });
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json; charset=utf-8',
          'Stripe-Signature': sign(body, secret),
        },
        body,
        redirect: 'manual', // to be sent elsewhere is not to be taken
        signal: AbortSignal.any([this.closing.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      await answer.arrayBuffer(); // so that the connection can be used again
      this.traffic.note({ kind: 'heard', to, status: answer.status });
      return answer.ok;
    } catch {
      this.traffic.note({ kind: 'heard', to, status: null });
      return false;
    }
  }
}

/** Each try is signed anew: a receiver refuses what was signed more than five minutes ago. */
function sign(body: string, secret: string): string {
  const time = secondsNow();
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;
}
