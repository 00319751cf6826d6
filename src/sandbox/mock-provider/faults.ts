import { invalidRequest } from './provider-error.js';

/**
 * - `delay`: acts at once and answers `delayMs` later; until then its key is in use.
 * - `decline`: the issuer refuses the next charge, whatever the card.
 * - `error_before`: 500, nothing done and nothing stored. `error_after`: done, and the 500 is stored and replayed.
 * - `drop_before`, `drop_after`: the connection breaks before or after acting.
 * - `conflict`: 409, as if the key were in use. `rate_limit`: 429.
 * - `down`: 503 to calls, and to look-ups as long as it lasts. `search_down`: 503 to searches and lists.
 * - `webhook_delay`: the next event is sent `delayMs` later. `webhook_duplicate`: twice. `webhook_reorder`: after the
 *   one that follows it, or after `delayMs` (2 s) where none does. `webhook_drop`: never.
 * Answers to calls carry `retryAfter`, where it is given, as their Retry-After.
 */
const KINDS = [
  'delay',
  'decline',
  'error_before',
  'error_after',
  'drop_before',
  'drop_after',
  'conflict',
  'rate_limit',
  'down',
  'search_down',
  'webhook_delay',
  'webhook_duplicate',
  'webhook_reorder',
  'webhook_drop',
] as const;

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

  /** The fault that this POST meets, and uses up. @param charging whether it attempts a charge */
  takeForCall(charging: boolean): Fault | undefined {
    return this.take((kind) => meetsCalls(kind) && (kind !== 'decline' || charging));
  }

  /** The fault that a search or list meets, and uses up. */
  takeForLookup(): Fault | undefined {
    return this.take((kind) => kind === 'search_down');
  }

  /** The fault that an event meets on its way, and uses up. */
  takeForWebhook(): Fault | undefined {
    return this.take(isOfWebhooks);
  }

  /** An outage meets reads as well; only POSTs count towards its end. */
  get isDown(): boolean {
    return this.pending.find(({ fault }) => meetsCalls(fault.kind))?.fault.kind === 'down';
  }

  private take(meets: (kind: FaultKind) => boolean): Fault | undefined {
    const next = this.pending.find(({ fault }) => meets(fault.kind));
    if (!next) return undefined;
    next.times -= 1;
    this.pending = this.pending.filter(({ times }) => times > 0);
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

function isOfWebhooks(kind: FaultKind): boolean {
  return kind.startsWith('webhook_');
}

function meetsCalls(kind: FaultKind): boolean {
  return kind !== 'search_down' && !isOfWebhooks(kind);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
