import { Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../../src/config/config.js';
import { InboxModule } from '../../../src/inbox/inbox.module.js';
import { InboxHandlers } from '../../../src/inbox/message-handler.js';
import { EventQueue } from './event-queue.js';
import { EventReceiver } from './event-receiver.js';
import { TakeEvent } from './take-event.handler.js';

/** Where `AMQP_URL` is set, events come from there. `InboxConsumerModule` applies them, in the same process or another. */
@Module({ imports: [InboxModule], providers: [EventReceiver, TakeEvent], exports: [EventReceiver] })
export class OrderEventsModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly queue: EventQueue | undefined;

  constructor(handlers: InboxHandlers, handler: TakeEvent, receiver: EventReceiver, { amqpUrl }: Config) {
    handlers.register(handler);
    if (amqpUrl !== undefined) this.queue = new EventQueue(amqpUrl, receiver);
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.queue?.open();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.queue?.close();
  }
}
