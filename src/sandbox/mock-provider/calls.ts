import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, FaultKind, Faults } from './faults.js';
import type { Ledger, StoredAnswer } from './ledger.js';
import { newId, type PaymentIntent, type Refund } from './objects.js';
import { Parameters } from './parameters.js';
import {
  apiError,
  invalidRequest,
  keyInUse,
  keyReused,
  ProviderError,
  tooManyRequests,
  type ErrorObject,
} from './provider-error.js';

/** A POST as it came in. */
export interface Call {
  readonly path: string;
  readonly form: string;
  readonly key?: string;
  /** Whether it attempts a charge. */
  readonly charging: boolean;
}

/** What a route makes of a call: a new state of an intent or refund. @throws ProviderError */
export type Work = (parameters: Parameters, decline: boolean) => Effect;

export type Effect = { readonly intent: PaymentIntent } | { readonly refund: Refund };

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Longest idempotency key that Stripe takes. */
const MAX_KEY_LENGTH = 255;

/**
 * Stripe's way with idempotency keys: the first call acts, and its answer is stored, 402s and 500s too; a repeat gets
 * it again, a repeat with other parameters is refused, a repeat while the first still runs is told so.
 * Source: https://docs.stripe.com/api/idempotent_requests.
 */
export class Calls {
  private readonly running = new Set<string>();

  constructor(
    private readonly ledger: Ledger,
    private readonly faults: Faults,
  ) {}

  /** The answer to a call; undefined where a fault breaks the connection instead. */
  async answer(call: Call, work: Work): Promise<Answer | undefined> {
    const free = this.isFree(call);
    const fault = this.faults.takeForCall(call, this.works(call));
    const answer = this.decide(call, work, fault?.kind);
    if (fault && fault.delayMs > 0) await this.late(fault.delayMs, free ? call.key : undefined);
    return fault?.kind === 'drop_before' || fault?.kind === 'drop_after' ? undefined : putOff(answer, fault);
  }

  private decide(call: Call, work: Work, fault?: FaultKind): Answer {
    const requestId = newId('req');
    try {
      failBefore(fault);
      const stored = this.stored(call);
      if (!stored) return this.act(call, work, requestId, fault);
      this.ledger.record({ key: call.key! });
      return replayed(stored, call, requestId);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (call.key !== undefined) this.ledger.record({ key: call.key });
      return refused(error, requestId);
    }
  }

  private stored({ key, ...call }: Call): StoredAnswer | undefined {
    if (key === undefined) return undefined;
    if (key.length > MAX_KEY_LENGTH) throw invalidRequest('Idempotency keys must be 255 characters or less.');
    const stored = this.ledger.answer(key);
    if (stored && stored.fingerprint !== fingerprint(call)) throw keyReused(key);
    if (this.running.has(key)) throw keyInUse();
    return stored;
  }

  private act(call: Call, work: Work, requestId: string, fault?: FaultKind): Answer {
    const effect = work(new Parameters(call.form), fault === 'decline');
    const { status, body } = fault === 'error_after' ? errorReply(apiError(500)) : replyTo(effect, call);
    const answer = { fingerprint: fingerprint(call), requestId, status, body };
    this.ledger.record({ ...effect, ...(call.key !== undefined && { key: call.key, answer }) });
    return { status, body, headers: { ...headersOf(call, requestId, requestId), ...finality(status) } };
  }

  /** Neither a replay nor refused for its key. */
  private works({ key }: Call): boolean {
    return key === undefined || (!this.running.has(key) && !this.ledger.answer(key));
  }

  private isFree({ key }: Call): boolean {
    return key !== undefined && !this.running.has(key);
  }

  private async late(delayMs: number, key?: string): Promise<void> {
    if (key !== undefined) this.running.add(key);
    await sleep(delayMs);
    if (key !== undefined) this.running.delete(key);
  }
}

function failBefore(fault?: FaultKind): void {
  if (fault === 'error_before' || fault === 'drop_before') throw apiError(500);
  if (fault === 'down') throw apiError(503);
  if (fault === 'conflict') throw keyInUse();
  if (fault === 'rate_limit') throw tooManyRequests();
}

function putOff(answer: Answer, fault?: Fault): Answer {
  if (fault?.retryAfter === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'Retry-After': fault.retryAfter } };
}

/** Parameters are compared, not bytes: their order does not matter. */
function fingerprint({ path, form }: Pick<Call, 'path' | 'form'>): string {
  const parameters = new URLSearchParams(form);
  parameters.sort();
  return createHash('sha256').update(`${path}\n${parameters.toString()}`).digest('hex');
}

function replyTo(effect: Effect, { charging }: Call): Pick<Answer, 'status' | 'body'> {
  if ('refund' in effect) return { status: 200, body: JSON.stringify(effect.refund) };
  const { intent } = effect;
  const { last_payment_error: error } = intent;
  if (!charging || !error) return { status: 200, body: JSON.stringify(intent) };
  return errorReply({ status: 402, error: { ...error, payment_intent: intent } });
}

function errorReply({
  status,
  error,
}: {
  status: number;
  error: ErrorObject;
}): Pick<Answer, 'status' | 'body'> {
  return { status, body: JSON.stringify({ error }) };
}

function refused(error: ProviderError, requestId: string): Answer {
  return { ...errorReply(error), headers: { 'Request-Id': requestId, ...error.headers } };
}

function replayed(
  { status, body, requestId: original }: StoredAnswer,
  call: Call,
  requestId: string,
): Answer {
  const headers = headersOf(call, requestId, original);
  return { status, body, headers: { ...headers, ...finality(status), 'Idempotent-Replayed': 'true' } };
}

function headersOf({ key }: Call, requestId: string, original: string): Record<string, string> {
  if (key === undefined) return { 'Request-Id': requestId };
  return { 'Request-Id': requestId, 'Original-Request': original, 'Idempotency-Key': key };
}

/** A stored error will be the answer for as long as the key lives. */
function finality(status: number): Record<string, string> {
  return status < 400 ? {} : { 'Stripe-Should-Retry': 'false' };
}
