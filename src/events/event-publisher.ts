import { MessageHandler, type StagedMessage } from '../outbox/delivery.js';
import { ConfirmedChannel } from './confirmed-channel.js';
import { EVENT_TOPIC } from './event-message.js';
import { brokerMessage, publishedEvent } from './published-event.js';

/**
 * Publishes events to RabbitMQ. It connects for the first one, and again for the first after the connection was lost:
 * when to try again is the relay's to decide. A broker that is away costs nothing but tries.
 */
export class EventPublisher extends MessageHandler {
  readonly topic = EVENT_TOPIC;
  private opening: Promise<ConfirmedChannel> | undefined;

  constructor(private readonly url: string) {
    super();
  }

  async deliver(message: StagedMessage): Promise<void> {
    const channel = await this.channel();
    await channel.publish(brokerMessage(publishedEvent(message)));
  }

  async close(): Promise<void> {
    const channel = await this.opening?.catch(() => undefined);
    await channel?.close();
  }

  /** Tries that come at the same time share one connection, also one that fails. */
  private async channel(): Promise<ConfirmedChannel> {
    const opening = (this.opening ??= ConfirmedChannel.open(this.url));
    const channel = await opening.catch((error: unknown) => {
      this.forget(opening);
      throw error;
    });
    if (!channel.lost) return channel;
    this.forget(opening);
    return this.channel();
  }

  private forget(opening: Promise<ConfirmedChannel>): void {
    if (this.opening === opening) this.opening = undefined;
  }
}
