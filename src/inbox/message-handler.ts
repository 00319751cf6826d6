import { Injectable } from '@nestjs/common';
import type { Tx } from '../database/transaction.js';

/** A message as its handler gets it. */
export interface ReceivedMessage {
  readonly tenantId: string;
  readonly source: string;
  readonly id: string;
  /** As it was received, through JSON. */
  readonly payload: unknown;
  /** Which try this is, from 1. */
  readonly attempts: number;
}

/** Applies the messages of one source; an abstract class, so that a handler is declared by what it extends. */
export abstract class InboxHandler {
  abstract readonly source: string;

  /**
   * What has transactions of its own, or calls another system: before the effect, with no transaction open, and safe
   * to repeat, as a crash may follow. @throws NotYet
   */
  abstract prepare(message: ReceivedMessage): Promise<void>;

  /** The effect, in the transaction that marks the message applied: both, once, or neither. @throws NotYet */
  abstract apply(tx: Tx, message: ReceivedMessage): Promise<void>;

  /** It failed too often, and is not tried again: a person is told, in the transaction that notes it. */
  abstract giveUp(tx: Tx, message: ReceivedMessage, error: string): void;
}

/** The message cannot be applied now, through no fault of its own: it is put back, and the try does not count. */
export class NotYet extends Error {
  constructor(
    reason: string,
    readonly retryInSeconds: number,
  ) {
    super(reason);
    this.name = 'NotYet';
  }
}

/** Which handler applies what came from where. Modules register theirs; the inbox knows none of them. */
@Injectable()
export class InboxHandlers {
  private readonly bySource = new Map<string, InboxHandler>();

  register(handler: InboxHandler): void {
    if (this.bySource.has(handler.source)) throw new Error(`The source "${handler.source}" has two handlers`);
    this.bySource.set(handler.source, handler);
  }

  /** Undefined where this build has none: a deploy that is not everywhere yet. */
  find(source: string): InboxHandler | undefined {
    return this.bySource.get(source);
  }

  /** @throws where this build has none */
  of(source: string): InboxHandler {
    const handler = this.find(source);
    if (!handler) throw new Error(`No handler is registered for the source "${source}"`);
    return handler;
  }
}
