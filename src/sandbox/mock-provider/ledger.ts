import { join } from 'node:path';
import { intentEvent, refundEvent, type Event } from './events.js';
import { Journal } from './journal.js';
import type { PaymentIntent, Refund } from './objects.js';
import { agedIntent } from './payment-intents.js';
import { missingObject } from './provider-error.js';

/** An answer that is kept under an idempotency key. */
export interface StoredAnswer {
  readonly fingerprint: string;
  readonly requestId: string;
  readonly status: number;
  readonly body: string;
}

/** What one call did, written as one line: its effect and its answer are kept together or not at all. */
export interface Entry {
  readonly key?: string;
  readonly intent?: PaymentIntent;
  readonly refund?: Refund;
  /** What is not known any more. */
  readonly forgotten?: string;
  readonly answer?: StoredAnswer;
}

interface Kept<Thing> {
  readonly thing: Thing;
  /** The key of the call that made it. */
  readonly key: string | null;
}

/** Everything the provider remembers, in memory and in `provider/ledger.jsonl`. */
export class Ledger {
  private readonly journal: Journal<Entry>;
  private readonly intents = new Map<string, Kept<PaymentIntent>>();
  private readonly refunds = new Map<string, Kept<Refund>>();
  private readonly answers = new Map<string, StoredAnswer>();
  private readonly calls = new Map<string, number>();
  private told: (event: Event) => void = () => undefined;

  constructor(dataDir?: string) {
    this.journal = new Journal(dataDir && join(dataDir, 'provider', 'ledger.jsonl'));
    for (const entry of this.journal.read()) this.apply(entry);
  }

  /** An entry that is only a key counts a call that did nothing new. */
  record(entry: Entry): void {
    const event = this.eventOf(entry);
    this.journal.append(entry);
    this.apply(entry);
    if (event) this.told(event);
  }

  /** Calls `listener` with what the outside may be told, once it is written. It must not throw, nor take long. */
  onEvent(listener: (event: Event) => void): void {
    this.told = listener;
  }

  answer(key: string): StoredAnswer | undefined {
    return this.answers.get(key);
  }

  /** @throws ProviderError 404 */
  intent(id: string, param = 'intent'): PaymentIntent {
    const kept = this.intents.get(id);
    if (!kept) throw missingObject('payment_intent', id, param);
    return agedIntent(kept.thing);
  }

  /** @throws ProviderError 404 */
  refund(id: string): Refund {
    const kept = this.refunds.get(id);
    if (!kept) throw missingObject('refund', id, 'id');
    return kept.thing;
  }

  /** Whichever of them has this id. @throws ProviderError 404 */
  thing(id: string): Pick<Entry, 'intent' | 'refund'> {
    return id.startsWith('re_') ? { refund: this.refund(id) } : { intent: this.intent(id) };
  }

  /** Newest first. */
  listIntents(): PaymentIntent[] {
    return [...this.intents.values()].reverse().map(({ thing }) => agedIntent(thing));
  }

  /** Newest first. */
  listRefunds(intentId?: string): Refund[] {
    const all = [...this.refunds.values()].reverse().map(({ thing }) => thing);
    return intentId === undefined ? all : all.filter(({ payment_intent }) => payment_intent === intentId);
  }

  /** The page to count by: one entry per charge and refund, with how many calls its key has had. */
  page(): object {
    return {
      charges: [...this.intents.values()].map(({ thing, key }) => this.pageEntry(agedIntent(thing), key)),
      refunds: [...this.refunds.values()].map(({ thing, key }) => ({
        ...this.pageEntry(thing, key),
        charge: thing.payment_intent,
      })),
    };
  }

  close(): void {
    this.journal.close();
  }

  private eventOf({ intent, refund }: Entry): Event | undefined {
    if (intent) return intentEvent(intent, this.intents.get(intent.id)?.thing);
    return refund && refundEvent(refund, this.refunds.get(refund.id)?.thing);
  }

  private pageEntry(thing: PaymentIntent | Refund, key: string | null): object {
    return {
      id: thing.id,
      idempotencyKey: key,
      amount: thing.amount,
      currency: thing.currency,
      status: 'last_payment_error' in thing && thing.last_payment_error ? 'failed' : thing.status,
      metadata: thing.metadata,
      calls: key === null ? 1 : (this.calls.get(key) ?? 0),
      createdAt: new Date(thing.created * 1000).toISOString(),
    };
  }

  private apply({ key, intent, refund, forgotten, answer }: Entry): void {
    if (key !== undefined) this.calls.set(key, (this.calls.get(key) ?? 0) + 1);
    if (intent) keep(this.intents, intent, key);
    if (refund) keep(this.refunds, refund, key);
    if (forgotten !== undefined) for (const things of [this.intents, this.refunds]) things.delete(forgotten);
    if (key !== undefined && answer) this.answers.set(key, answer);
  }
}

/** A later state replaces the earlier one, but the thing stays its maker's. */
function keep<Thing extends { id: string }>(
  things: Map<string, Kept<Thing>>,
  thing: Thing,
  key?: string,
): void {
  const earlier = things.get(thing.id);
  things.set(thing.id, { thing, key: earlier ? earlier.key : (key ?? null) });
}
