import { Injectable, Logger } from '@nestjs/common';
import { inParallel } from '../background/in-parallel.js';
import { Database } from '../database/transaction.js';
import { InboxStore } from './inbox.store.js';
import { InboxHandlers, NotYet, type InboxHandler, type ReceivedMessage } from './message-handler.js';

/**
 * What became of the messages of one round. `dead`: given up, and a person is told; `lost`: somebody else had applied
 * it, or given it up, first.
 */
export type InboxCounts = Record<'claimed' | 'applied' | 'failed' | 'dead' | 'putBack' | 'lost', number>;

/** Messages of one tenant in one claim: with the numbers below they are through long before the lease ends. */
const BATCH = 50;

/**
 * With the backoff below so many take five hours or so: longer than most outages, and short enough that a person hears
 * of it the same day. A try that its process did not survive counts.
 */
const MOST_TRIES = 20;

/** Each uses one connection of the pool at a time. */
const TENANTS_AT_ONCE = 2;
const MESSAGES_AT_ONCE = 4;

/** Above what a batch takes, unless the other systems that its messages wait for are very slow: see `claim`. */
const LEASE_SECONDS = 60;

/**
 * Applies the messages that were received, in any number of processes: each takes effect in the transaction that
 * marks it applied. One that fails rests for a while and holds up no other, and is left to a person in the end; a
 * consumer that dies leaves its claims to run out.
 */
@Injectable()
export class InboxConsumer {
  private readonly logger = new Logger(InboxConsumer.name);

  constructor(
    private readonly database: Database,
    private readonly store: InboxStore,
    private readonly handlers: InboxHandlers,
  ) {}

  async runOnce(signal: AbortSignal = new AbortController().signal): Promise<InboxCounts> {
    const counts: InboxCounts = { claimed: 0, applied: 0, failed: 0, dead: 0, putBack: 0, lost: 0 };
    await inParallel(TENANTS_AT_ONCE, await this.store.tenantsWithDueMessages(), async (tenantId) => {
      if (signal.aborted) return;
      const messages = await this.store.claim(tenantId, BATCH, LEASE_SECONDS);
      counts.claimed += messages.length;
      await inParallel(MESSAGES_AT_ONCE, messages, async (message) => {
        counts[await (signal.aborted ? this.leave(message) : this.attempt(message))] += 1;
      });
    });
    return counts;
  }

  private async attempt(message: ReceivedMessage): Promise<keyof InboxCounts> {
    try {
      const handler = this.handlers.of(message.source);
      if (message.attempts > MOST_TRIES)
        return await this.giveUp(handler, message, 'its process died each time');
      await handler.prepare(message);
      return await this.database.transaction(async (tx) => {
        if (!(await this.store.markApplied(tx, message))) return 'lost';
        await handler.apply(tx, message);
        return 'applied';
      });
    } catch (error) {
      return error instanceof NotYet ? this.postpone(message, error) : this.afterFailure(message, error);
    }
  }

  private async postpone(message: ReceivedMessage, why: NotYet): Promise<'putBack'> {
    await this.store.putBack(message, why.message, why.retryInSeconds);
    return 'putBack';
  }

  private async afterFailure(message: ReceivedMessage, error: unknown): Promise<'failed' | 'dead' | 'lost'> {
    const { tenantId, source, id, attempts } = message;
    const isLast = attempts >= MOST_TRIES;
    this.logger[isLast ? 'error' : 'warn']({
      msg: 'message not applied',
      tenantId,
      source,
      id,
      attempts,
      err: error,
    });
    const handler = isLast ? this.handlers.find(source) : undefined;
    if (handler) return this.giveUp(handler, message, nameOf(error));
    await this.store.fail(message, nameOf(error), backoffSeconds(attempts));
    return 'failed';
  }

  private giveUp(handler: InboxHandler, message: ReceivedMessage, error: string): Promise<'dead' | 'lost'> {
    return this.database.transaction(async (tx) => {
      if (!(await this.store.giveUp(tx, message, error))) return 'lost';
      handler.giveUp(tx, message, error);
      return 'dead';
    });
  }

  /** The process is about to stop. */
  private async leave(message: ReceivedMessage): Promise<'putBack'> {
    await this.store.putBack(message, 'the consumer stopped', 0);
    return 'putBack';
  }
}

/** What kind of error it was; its message may hold values, and is in the log alone. */
function nameOf(error: unknown): string {
  const { name = 'unknown', code } = (error ?? {}) as { name?: string; code?: unknown };
  return typeof code === 'string' ? `${name} ${code}` : name;
}

/** Exponential with full jitter, up to an hour. */
function backoffSeconds(attempts: number): number {
  return Math.random() * Math.min(3600, 2 ** attempts);
}
