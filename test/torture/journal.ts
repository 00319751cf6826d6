/** One request of a client, and what it saw. */
export interface Try {
  readonly at: string;
  readonly ms: number;
  readonly api: string;
  /** How it was sent, where not as it should be: another body, a fault point, cut off. */
  readonly note?: string;
  readonly status?: number;
  readonly code?: string;
  readonly replayed?: boolean;
  /** As the processes' logs call it. */
  readonly requestId?: string;
  readonly body?: string;
  /** Why there was no answer. */
  readonly error?: string;
}

export type Route = 'checkout' | 'order' | 'charge' | 'refund';

/** What a client wants once, whatever number of requests it takes; its key names it. */
export interface Intent {
  readonly tenant: string;
  readonly apiKey: string;
  readonly key: string;
  readonly route: Route;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly tries: Try[];
  /** The first answer that ends it, if it came. */
  final?: Try;
  /** The client never came back: only the completer can finish. */
  abandoned?: boolean;
}

/** Everything that the clients remember. */
export class Journal {
  readonly intents: Intent[] = [];
  /** How many intents have come to their end. */
  answered = 0;

  open(intent: Omit<Intent, 'tries'>): Intent {
    const opened = { ...intent, tries: [] };
    this.intents.push(opened);
    return opened;
  }

  /** @returns the answer that ended it, the first time */
  close(intent: Intent, final: Try): Try {
    if (!intent.final) this.answered += 1;
    return (intent.final ??= final);
  }

  /** As it is now; what is read after this has everything that is in it. */
  copy(): Journal {
    const copy = new Journal();
    copy.intents.push(...this.intents.map((intent) => ({ ...intent, tries: [...intent.tries] })));
    return copy;
  }

  get tries(): Try[] {
    return this.intents.flatMap(({ tries }) => tries);
  }
}

/** A success, or a refusal that is stored: whoever asks again must get the same bytes. */
export function isDefinitive({ status, note }: Try): boolean {
  return (
    note !== CHANGED_BODY && note !== WRONG_ORDER && (status === 200 || status === 201 || status === 402)
  );
}

/** Held up by a fault point of its own, for two leases: its time says nothing of the service. */
export function isHung({ note }: Try): boolean {
  return note?.endsWith('=hang') ?? false;
}

export const CHANGED_BODY = 'changed body';
export const WRONG_ORDER = 'an order that is not there';
export const CUT_OFF = 'cut off by the client';
