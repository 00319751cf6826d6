import type { Answer } from '../support/checkout.js';

/** A request as its client means it. */
export interface Ask {
  readonly kind: 'checkout' | 'charge' | 'refund';
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** All that clients know, and may therefore rely on: nothing in it is read from the service's own tables. */
export class Model {
  private readonly keys = new Map<string, KnownKey>();
  /** Keys whose retention is over; what was done under them stays done. */
  private readonly past: KnownKey[] = [];

  key(apiKey: string, name: string): KnownKey {
    const id = `${apiKey} ${name}`;
    const known = this.keys.get(id) ?? new KnownKey(apiKey, name);
    this.keys.set(id, known);
    return known;
  }

  /** Keys under which something may have been done. */
  used(): KnownKey[] {
    return [...this.keys.values()].filter(({ asked }) => asked.length > 0);
  }

  finished(): KnownKey[] {
    return this.used().filter(({ reply }) => reply !== undefined);
  }

  /** Whoever asked has not had an answer that is final. */
  waiting(): KnownKey[] {
    return this.used().filter(({ reply }) => reply === undefined);
  }

  forget(keys: readonly KnownKey[]): void {
    this.past.push(...keys);
    for (const [id, known] of this.keys) if (keys.includes(known)) this.keys.delete(id);
  }

  /** Every answer that was final, and what had been asked. */
  replies(kind: Ask['kind']): Answer[] {
    return [...this.past, ...this.finished()].flatMap(({ reply, asked }) =>
      reply && asked[0]!.kind === kind ? [reply] : [],
    );
  }
}

/** What one client knows of one key. */
export class KnownKey {
  /** What the key may stand for: the one request that was accepted is among these. */
  asked: Ask[] = [];
  /** The final answer, once one has come. */
  reply: Answer | undefined;
  private inFlight = 0;
  /** Whether requests with this key overlap: then none can tell which of them the key stands for. */
  private crowded = false;

  constructor(
    readonly apiKey: string,
    readonly name: string,
  ) {}

  /** Sends a request and judges the answer by what was known before. @param send undefined where no answer came */
  async ask(ask: Ask, send: () => Promise<Answer | undefined>): Promise<void> {
    const { reply: known } = this;
    if (!known && !this.holds(ask)) this.asked.push(ask);
    this.crowded = this.inFlight > 0;
    this.inFlight += 1;
    const answer = await send();
    this.inFlight -= 1;
    if (answer) this.hear(ask, answer, known);
  }

  private hear(ask: Ask, answer: Answer, known: Answer | undefined): void {
    if (answer.status === 422) return this.hearMismatch(ask, answer);
    if (known) expect(answer.headers.get('idempotent-replayed')).toBe('true');
    if (isFinal(answer)) this.hearFinal(ask, answer);
    else if (!this.crowded && leftNoTrace(answer)) this.asked = this.without(ask);
  }

  /** Another request has the key: never the answer to the only one that may have it. */
  private hearMismatch(ask: Ask, answer: Answer): void {
    expect(answer.body.code).toBe('idempotency_key_mismatch');
    expect(this.without(ask)).not.toEqual([]);
    this.asked = this.without(ask);
  }

  private hearFinal(ask: Ask, answer: Answer): void {
    this.reply ??= answer;
    expect(essence(answer)).toEqual(essence(this.reply));
    expect(this.holds(ask)).toBe(true);
    this.asked = [ask];
  }

  private holds(ask: Ask): boolean {
    return this.asked.some((each) => isSame(each, ask));
  }

  private without(ask: Ask): Ask[] {
    return this.asked.filter((each) => !isSame(each, ask));
  }
}

/** A retry is not asked for. */
export function isFinal({ status, headers }: Answer): boolean {
  return status < 500 && headers.get('should-retry') !== 'true';
}

/** Refused before the first commit, and not stored: another request may have the key now. */
function leftNoTrace({ body }: Answer): boolean {
  return ['internal_error', 'order_payment_in_progress', 'charge_in_progress'].includes(body.code as string);
}

function isSame(one: Ask, other: Ask): boolean {
  return one.path === other.path && JSON.stringify(one.body) === JSON.stringify(other.body);
}

function essence({ status, headers, text }: Answer): unknown[] {
  return [status, headers.get('content-type'), headers.get('location'), text];
}
