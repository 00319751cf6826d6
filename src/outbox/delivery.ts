import { Injectable } from '@nestjs/common';

/** A message as its handler gets it. It may come more than once: `dedupeKey` is the same each time. */
export interface StagedMessage {
  readonly tenantId: string;
  /** TypeID, `msg_…`. */
  readonly id: string;
  readonly dedupeKey: string;
  readonly topic: string;
  /** As it was staged, through JSON. */
  readonly payload: unknown;
  /** Rises with every message of one ordering key, in the order they were staged, with gaps. */
  readonly sequence: number;
  /** When it was staged. */
  readonly createdAt: Date;
  /** Which try this is, from 1. */
  readonly attempts: number;
}

/** Delivers the messages of one topic; an abstract class, so that a handler is declared by what it extends. */
export abstract class MessageHandler {
  abstract readonly topic: string;

  /**
   * Resolves once the receiver has confirmed the message; whatever it throws is a failed try, made again later.
   * When `signal` aborts, the try has already been given up and the handler should let go of its resources.
   */
  abstract deliver(message: StagedMessage, signal: AbortSignal): Promise<void>;
}

/** No handler is registered for a topic: a typing error, or a deploy that is not everywhere yet. */
export class UnknownTopic extends Error {
  constructor(topic: string) {
    super(`No handler is registered for the topic "${topic}"`);
    this.name = 'UnknownTopic';
  }
}

/** Which handler delivers which topic. Modules that deliver messages register here; the outbox knows none of them. */
@Injectable()
export class MessageHandlers {
  private readonly byTopic = new Map<string, MessageHandler>();

  register(handler: MessageHandler): void {
    if (this.byTopic.has(handler.topic)) throw new Error(`The topic "${handler.topic}" has two handlers`);
    this.byTopic.set(handler.topic, handler);
  }

  /** @throws UnknownTopic */
  of(topic: string): MessageHandler {
    const handler = this.byTopic.get(topic);
    if (!handler) throw new UnknownTopic(topic);
    return handler;
  }
}
