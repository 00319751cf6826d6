import { Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundLoop } from '../background/background-loop.js';
import { BackgroundModule } from '../background/background.module.js';
import { LoopMetrics } from '../background/loop-metrics.js';
import { MessageHandlers } from './delivery.js';
import { OutboxModule } from './outbox.module.js';
import { Outbox } from './outbox.js';
import { OutboxStore } from './outbox.store.js';
import { Relay } from './relay.js';

/** The relay at work, for the worker role. Messages of the same process are delivered as soon as they commit. */
@Module({
  imports: [BackgroundModule, OutboxModule],
  providers: [
    OutboxStore,
    {
      provide: Relay,
      inject: [OutboxStore, MessageHandlers],
      useFactory: (store: OutboxStore, handlers: MessageHandlers) => new Relay(store, handlers),
    },
  ],
  exports: [Relay],
})
export class RelayModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: BackgroundLoop;

  constructor(
    relay: Relay,
    private readonly outbox: Outbox,
    metrics: LoopMetrics,
  ) {
    this.loop = new BackgroundLoop('Relay', relay, metrics);
  }

  onApplicationBootstrap(): void {
    this.outbox.onCommitted(() => this.loop.nudge());
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }
}
