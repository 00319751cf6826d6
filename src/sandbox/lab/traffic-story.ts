import type { Seen } from '../mock-provider/traffic.js';
import type { Cast } from './cast.js';
import type { Happening, Words } from './events.js';
import type { WatchedKey } from './key-view.js';

type Asked = Extract<Seen, { kind: 'asked' }>;

/** A call under way: what its answer will belong to. */
interface Open {
  readonly key: WatchedKey;
  readonly owner: number;
  readonly from: 'api' | 'worker';
  readonly charging: boolean;
}

/** What passes between the service and the provider, told in words. */
export class TrafficStory {
  private readonly open = new Map<number, Open>();
  private readonly events = new Set<number>();
  private readonly asked = new Map<string, number>();
  /** Whose last call was not answered clearly: a list that is asked for now is asked for its sake. */
  private doubted: WatchedKey | undefined;

  constructor(private readonly cast: Cast) {}

  tell(seen: Seen): Happening | undefined {
    switch (seen.kind) {
      case 'asked':
        return seen.key === null ? this.lookup(seen) : this.call(seen, seen.key);
      case 'answered':
        return this.answer(seen);
      case 'told':
        return this.told(seen);
      case 'heard':
        return this.heard(seen);
    }
  }

  private call(seen: Asked, derivedKey: string): Happening | undefined {
    const key = this.cast.byDerivedKey(derivedKey);
    if (!key) return undefined;
    const times = (this.asked.get(derivedKey) ?? 0) + 1;
    this.asked.set(derivedKey, times);
    const open = this.begin(seen, key, true);
    const text =
      times === 1
        ? 'The card is to be charged. The provider gets a key of its own, derived from our row, and no transaction is open.'
        : 'Asked again: the same frozen request under the same derived key, so that the provider can recognise it.';
    return {
      ...arrow(seen, open),
      title: times === 1 ? 'charge' : 'charge, once more',
      wrote: [shorten(derivedKey)],
      text,
    };
  }

  private lookup(seen: Asked): Happening | undefined {
    const key = this.cast.byLookup(seen.url) ?? (isList(seen) ? this.doubted : undefined);
    if (!key?.isInProgress) return undefined;
    const open = this.begin(seen, key, false);
    return {
      ...arrow(seen, open),
      title: 'look-up',
      text: 'Not guessed but looked up: does the provider know a charge with our id?',
    };
  }

  private begin({ n }: Asked, key: WatchedKey, charging: boolean): Open {
    const from = key.process === 'worker' ? 'worker' : 'api';
    const open = { key, owner: key.owner, from, charging } as const;
    this.open.set(n, open);
    return open;
  }

  private answer(seen: Answered): Happening | undefined {
    const open = this.open.get(seen.to);
    if (!open) return undefined;
    const { key, owner, from, charging } = open;
    if (charging) this.doubted = isClear(seen.status) ? undefined : key;
    const words = charging ? answerToCharge(seen) : answerToLookup(seen.status);
    const broken = seen.status === null ? { broken: true } : {};
    return {
      at: seen.at,
      kind: 'call',
      from: 'provider',
      to: from,
      label: key.label,
      owner,
      ...broken,
      ...words,
    };
  }

  private told({ n, at, event, orderId }: Extract<Seen, { kind: 'told' }>): Happening | undefined {
    if (orderId === null || !this.cast.orders.has(orderId)) return undefined;
    this.events.add(n);
    const text =
      'The provider tells of the charge by webhook, too. That is a hint, in case its answer was lost.';
    return {
      at,
      kind: 'call',
      from: 'provider',
      to: 'api',
      title: `webhook · ${event.replace('payment_intent.', '')}`,
      text,
    };
  }

  private heard({ to, at, status }: Extract<Seen, { kind: 'heard' }>): Happening | undefined {
    if (!this.events.has(to) || (status !== null && status < 300)) return undefined;
    const text = 'Nobody takes the webhook. The provider will send it again.';
    return {
      at,
      kind: 'call',
      from: 'api',
      to: 'provider',
      title: 'webhook not taken',
      text,
      tone: 'wait',
      broken: true,
    };
  }
}

function arrow({ at }: Asked, { key, owner, from }: Open) {
  return { at, kind: 'call', from, to: 'provider', label: key.label, owner } as const;
}

function isList({ url }: Asked): boolean {
  return url.startsWith('/v1/payment_intents?');
}

function isClear(status: number | null): boolean {
  return status !== null && (status < 400 || status === 402);
}

type Answered = Extract<Seen, { kind: 'answered' }>;

function answerToCharge({ status, replayed }: Answered): Words {
  if (status === null)
    return {
      title: 'no answer',
      text: 'No answer comes. Was the card charged? The service must not guess.',
      tone: 'bad',
    };
  if (status === 402)
    return { title: '402 declined', text: 'The provider says no. That is an answer, and a final one.' };
  if (status === 409)
    return {
      title: '409 in use',
      text: 'The provider is still busy with that key: what came of it is unknown.',
      tone: 'wait',
    };
  if (status >= 500)
    return {
      title: String(status),
      text: 'An error that says nothing of what was done: the outcome is unknown.',
      tone: 'bad',
    };
  if (status >= 400) return { title: String(status), text: 'The provider refuses the call.', tone: 'bad' };
  return replayed
    ? {
        title: 'succeeded, as before',
        text: 'The provider knows the key and repeats its first answer. The card is not charged again.',
        tone: 'good',
      }
    : {
        title: 'succeeded',
        text: 'The card is charged. Until the next commit only this process knows.',
        tone: 'good',
      };
}

function answerToLookup(status: number | null): Words {
  if (status === null)
    return { title: 'no answer', text: 'The look-up is not answered either.', tone: 'bad' };
  return {
    title: 'look-up answered',
    text: 'What the provider knows of it is taken; that it finds nothing would prove nothing.',
  };
}

/** `sandbox:idem_01kb…:charge`: its two ends say the most. */
function shorten(derivedKey: string): string {
  return derivedKey.replace(/(idem_\w{2})\w+(\w{4})/, '$1…$2');
}
