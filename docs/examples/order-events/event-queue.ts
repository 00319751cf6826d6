import { Logger } from '@nestjs/common';
import {
  connect,
  type Channel,
  type ChannelModel,
  type ConsumeMessage,
  type RecoveringChannelModel,
} from 'amqplib';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventReceiver } from './event-receiver.js';
import { parseEvent, type OrderEvent } from './order-event.js';

const EXCHANGE = 'checkout.events';
const QUEUE = 'takings';
/** What is no event: for a person to look at. */
const REFUSED = 'takings.refused';

/** Taken from the broker and not acknowledged yet; a consumer that dies gives so many back. */
const PREFETCH = 50;

/** The database is away: what cannot be stored comes again at once, and need not come a thousand times a second. */
const REST_MS = 1_000;

/**
 * This service's queue of all events. Whatever breaks, the connection, the channel or the queue, it connects anew for as
 * long as it is open, and makes what is not there: one way back, that is walked often.
 */
export class EventQueue {
  private readonly logger = new Logger(EventQueue.name);
  private connection: RecoveringChannelModel | undefined;

  constructor(
    private readonly url: string,
    private readonly receiver: EventReceiver,
  ) {}

  /** Does not wait for the broker, which may be away. */
  async open(): Promise<void> {
    const setup = (connection: ChannelModel) => this.consume(connection);
    this.connection = await connect(this.url, {
      recovery: { setup, maxDelay: 5_000, waitForConnect: false },
    });
    this.connection.on('error', (err: Error) => this.logger.warn({ msg: 'connection lost', err }));
    this.connection.on('connect-failed', (err: Error) => this.logger.warn({ msg: 'not connected', err }));
  }

  /** What has not been acknowledged goes back to the queue. */
  async close(): Promise<void> {
    await this.connection?.close();
  }

  private async consume(connection: ChannelModel): Promise<void> {
    const startAnew = (): void => void connection.close().catch(() => undefined); // it is closed already
    const channel = await connection.createChannel();
    channel.on('error', (err: Error) => this.logger.warn({ msg: 'channel closed', err }));
    channel.on('close', startAnew);
    await channel.prefetch(PREFETCH);
    await channel.assertExchange(EXCHANGE, 'topic', { durable: true });
    await channel.assertQueue(REFUSED, { durable: true });
    await channel.assertQueue(QUEUE, {
      durable: true,
      arguments: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': REFUSED },
    });
    await channel.bindQueue(QUEUE, EXCHANGE, '#');
    await channel.consume(QUEUE, (message) => {
      if (message) void this.take(channel, message);
      else startAnew(); // the broker has ended the subscription: somebody has deleted the queue
    });
  }

  /** Acknowledged once it is stored, never before: a crash in between brings it again, and the inbox knows it. */
  private async take(channel: Channel, message: ConsumeMessage): Promise<void> {
    const event = eventOf(message);
    if (!event) return settle(() => channel.nack(message, false, false));
    try {
      await this.receiver.receive(event);
      settle(() => channel.ack(message));
    } catch (err) {
      this.logger.warn({ msg: 'event not stored', id: event.id, err });
      await sleep(REST_MS);
      settle(() => channel.nack(message, false, true));
    }
  }
}

function eventOf({ content }: ConsumeMessage): OrderEvent | undefined {
  try {
    return parseEvent(content);
  } catch {
    return undefined;
  }
}

/** The channel may be gone by now: then the message comes again, on another one. */
function settle(answer: () => void): void {
  try {
    answer();
  } catch {
    // said above
  }
}
