import { invalidRequest } from './provider-error.js';

/**
 * What calls, the POSTs, meet:
 * - `delay`: acts at once and answers `delayMs` later; until then its key is in use.
 * - `decline`: the issuer refuses the next charge, whatever the card.
 * - `error_before`: 500, nothing done and nothing stored. `error_after`: done, and the 500 is stored and replayed.
 * - `drop_before`, `drop_after`: the connection breaks before or after acting.
 * - `conflict`: 409, as if the key were in use. `rate_limit`: 429.
 * - `down`: 503 to calls, and to look-ups as long as it lasts.
 * Answers carry `retryAfter`, where it is given, as their Retry-After.
 */
export const CALL_FAULTS = [
  'delay',
  'decline',
  'error_before',
  'error_after',
  'drop_before',
  'drop_after',
  'conflict',
  'rate_limit',
  'down',
] as const;

/** `search_down`: 503 to searches and lists. */
export const LOOKUP_FAULTS = ['search_down'] as const;

/**
 * `webhook_delay`: the next event is sent `delayMs` later. `webhook_duplicate`: twice. `webhook_reorder`: after the
 * one that follows it, or after `delayMs` (2 s) where none does. `webhook_drop`: never.
 */
export const WEBHOOK_FAULTS = [
  'webhook_delay',
  'webhook_duplicate',
  'webhook_reorder',
  'webhook_drop',
] as const;

const KINDS = [...CALL_FAULTS, ...LOOKUP_FAULTS, ...WEBHOOK_FAULTS];

/** A replay, or a call whose key is in use, does nothing that could be declined or fail after it. */
const MEET_WORK: readonly FaultKind[] = ['decline', 'error_after'];

export type FaultKind = (typeof KINDS)[number];

export interface Fault {
  readonly kind: FaultKind;
  /** How much later the answer comes, or the break of the connection. */
  readonly delayMs: number;
  readonly retryAfter?: string;
}

/** What goes wrong next, in the order in which it was asked for. */
export class Faults {
  private pending: { readonly fault: Fault; times: number }[] = [];
  private readonly counts = new Map<FaultKind, number>();

  /** @param body `{ kind, times?, delayMs?, retryAfter? }` @throws ProviderError 400 */
  add(body: unknown): void {
    const { times = 1, ...asked } = (body ?? {}) as Record<string, unknown>;
    const fault = faultOf(asked);
    if (!isCount(times) || times < 1) throw invalidRequest('times must be an integer from 1.');
    this.pending.push({ fault, times });
  }

  clear(): void {
    this.pending = [];
  }

  /** How often each kind has been met so far, whatever was cleared since. */
  get met(): Record<FaultKind, number> {
    const counts = KINDS.map((kind) => [kind, this.counts.get(kind) ?? 0]);
    return Object.fromEntries(counts) as Record<FaultKind, number>;
  }

  /** The fault that this POST meets, and uses up. @param works whether it is to do what was not done before */
  takeForCall({ charging }: { readonly charging: boolean }, works: boolean): Fault | undefined {
    return this.take(
      (kind) =>
        isOneOf(CALL_FAULTS, kind) &&
        (kind !== 'decline' || charging) &&
        (works || !isOneOf(MEET_WORK, kind)),
    );
  }

  /** The fault that a search or list meets, and uses up. */
  takeForLookup(): Fault | undefined {
    return this.take((kind) => isOneOf(LOOKUP_FAULTS, kind));
  }

  /** The fault that an event meets on its way, and uses up. */
  takeForWebhook(): Fault | undefined {
    return this.take((kind) => isOneOf(WEBHOOK_FAULTS, kind));
  }

  /** An outage meets reads as well; only POSTs count towards its end. */
  get isDown(): boolean {
    return this.pending.find(({ fault }) => isOneOf(CALL_FAULTS, fault.kind))?.fault.kind === 'down';
  }

  private take(meets: (kind: FaultKind) => boolean): Fault | undefined {
    const next = this.pending.find(({ fault }) => meets(fault.kind));
    if (!next) return undefined;
    next.times -= 1;
    this.pending = this.pending.filter(({ times }) => times > 0);
    this.counts.set(next.fault.kind, this.met[next.fault.kind] + 1);
    return next.fault;
  }
}

function faultOf({ kind, delayMs = 0, retryAfter }: Record<string, unknown>): Fault {
  if (!KINDS.includes(kind as FaultKind)) throw invalidRequest(`kind must be one of ${KINDS.join(', ')}.`);
  const waits = kind === 'delay' || kind === 'webhook_delay';
  if (!isCount(delayMs) || (waits && delayMs < 1)) throw invalidRequest('delayMs must be in milliseconds.');
  const fault = { kind: kind as FaultKind, delayMs };
  if (retryAfter === undefined) return fault;
  if (typeof retryAfter !== 'string') throw invalidRequest('retryAfter must be what the header is to say.');
  return { ...fault, retryAfter };
}

function isOneOf(kinds: readonly FaultKind[], kind: FaultKind): boolean {
  return kinds.includes(kind);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
