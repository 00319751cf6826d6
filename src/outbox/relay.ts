import { inParallel } from '../background/in-parallel.js';
import { backoffSeconds, MAX_ATTEMPTS } from './backoff.js';
import type { MessageHandlers, StagedMessage } from './delivery.js';
import { Marks } from './marks.js';
import type { Outcome, OutboxStore } from './outbox.store.js';
import { withTimeLimit } from './time-limit.js';

/**
 * What became of the messages of one round. `released`: claimed, but put back untried; `lost`: another relay had
 * taken the message over, or somebody had settled it, before it was marked here.
 */
export type RelayCounts = Record<(typeof COUNTED)[number], number>;

const COUNTED = ['claimed', 'sent', 'failed', 'dead', 'released', 'lost'] as const;

export interface RelaySettings {
  /** Messages of one tenant in one claim. */
  readonly batchSize: number;
  readonly tenantsAtOnce: number;
  /** Of one tenant. */
  readonly deliveriesAtOnce: number;
  /** A round begins no delivery after this long, so that one slow topic or tenant cannot hold up the others. */
  readonly startWithinMs: number;
  /** After this long a delivery that has not settled has failed. */
  readonly deliveryTimeoutMs: number;
  /** Must outlast a round, or a second relay would deliver what the first is still delivering. */
  readonly leaseSeconds: number;
  readonly maxAttempts: number;
}

const DEFAULTS: RelaySettings = {
  batchSize: 1_000,
  tenantsAtOnce: 4, // each uses one connection of the pool at a time
  deliveriesAtOnce: 16,
  startWithinMs: 5_000,
  deliveryTimeoutMs: 15_000, // above every timeout of SMTP and HTTP inside a handler
  leaseSeconds: 60, // three times what a round takes at most (5 s + 15 s)
  maxAttempts: MAX_ATTEMPTS,
};

/**
 * Delivers staged messages, at least once each, in any number of processes. A round claims a batch for each tenant
 * that has one due, delivers it with no transaction open, and marks what came of it under the claim's token.
 * A relay that dies leaves its claims to run out; each counts as an attempt.
 */
export class Relay {
  private readonly settings: RelaySettings;

  constructor(
    private readonly store: OutboxStore,
    private readonly handlers: MessageHandlers,
    settings: Partial<RelaySettings> = {},
  ) {
    this.settings = { ...DEFAULTS, ...settings };
  }

  async runOnce(signal: AbortSignal = new AbortController().signal): Promise<RelayCounts> {
    const tenants = await this.store.tenantsWithDueMessages();
    const counts = { claimed: 0, sent: 0, failed: 0, dead: 0, released: 0, lost: 0 };
    await inParallel(this.settings.tenantsAtOnce, tenants, async (tenantId) => {
      if (signal.aborted) return;
      const batch = await this.relayBatch(tenantId, signal);
      for (const name of COUNTED) counts[name] += batch[name];
    });
    return counts;
  }

  private async relayBatch(tenantId: string, signal: AbortSignal): Promise<RelayCounts> {
    const { batchSize, leaseSeconds, deliveriesAtOnce, startWithinMs } = this.settings;
    const claim = await this.store.claim(tenantId, batchSize, leaseSeconds);
    const marks = new Marks(this.store, claim);
    const lastStart = performance.now() + startWithinMs;
    const mayStart = (): boolean => !signal.aborted && !marks.broken && performance.now() < lastStart;
    await inParallel(deliveriesAtOnce, claim.messages, async (message) => {
      marks.add(message.id, mayStart() ? await this.attempt(message) : { kind: 'released' });
    });
    await marks.written();
    return { claimed: claim.messages.length, ...marks.counts };
  }

  private async attempt(message: StagedMessage): Promise<Outcome> {
    const { maxAttempts, deliveryTimeoutMs } = this.settings;
    // Only claims that nobody marked bring a message this far: whoever tries to deliver it dies of it.
    if (message.attempts > maxAttempts)
      return { kind: 'dead', error: 'No try ended: each relay died or lost its claim' };
    try {
      await withTimeLimit(deliveryTimeoutMs, (signal) =>
        this.handlers.of(message.topic).deliver(message, signal),
      );
      return { kind: 'sent' };
    } catch (error) {
      return this.afterFailure(message, textOf(error));
    }
  }

  private afterFailure({ attempts }: StagedMessage, error: string): Outcome {
    return attempts >= this.settings.maxAttempts
      ? { kind: 'dead', error }
      : { kind: 'failed', error, retryInSeconds: backoffSeconds(attempts) };
  }
}

/** PostgreSQL takes neither NUL nor half a surrogate pair, and one bad text would fail the marks of a whole batch. */
function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll('\0', '').slice(0, LONGEST_ERROR).toWellFormed();
}

/** Enough to tell what went wrong; some servers answer with a page. */
const LONGEST_ERROR = 500;
