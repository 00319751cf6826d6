import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/config.js';
import { MessageHandlers } from '../outbox/delivery.js';
import { OutboxModule } from '../outbox/outbox.module.js';
import { Outbox } from '../outbox/outbox.js';
import { EVENT_TOPIC } from './event-message.js';
import { EventPublisher } from './event-publisher.js';

/**
 * Events, where a broker is configured; where none is, nothing of them is written, as nobody would ever read it. Every
 * role imports it: the one decides by it what is staged, the other publishes.
 */
@Module({ imports: [OutboxModule] })
export class EventsModule implements OnApplicationShutdown {
  private readonly publisher: EventPublisher | undefined;

  constructor(outbox: Outbox, handlers: MessageHandlers, { amqpUrl }: Config) {
    if (amqpUrl === undefined) outbox.leaveOut(EVENT_TOPIC);
    else handlers.register((this.publisher = new EventPublisher(amqpUrl)));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.publisher?.close();
  }
}
