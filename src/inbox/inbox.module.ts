import { Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundLoop } from '../background/background-loop.js';
import { BackgroundModule } from '../background/background.module.js';
import { LoopMetrics } from '../background/loop-metrics.js';
import { ReaperModule } from '../background/reaper.module.js';
import { Reaper } from '../background/reaper.js';
import { Config } from '../config/config.js';
import { APPLIED_MESSAGES } from './applied-messages.js';
import { InboxBacklog } from './inbox-backlog.js';
import { InboxConsumer } from './inbox-consumer.js';
import { InboxStore } from './inbox.store.js';
import { Inbox } from './inbox.js';
import { InboxHandlers } from './message-handler.js';

/** For whoever receives messages (`Inbox`) and whoever applies them (`InboxHandlers`). */
@Module({
  imports: [ReaperModule],
  providers: [Inbox, InboxHandlers, InboxBacklog],
  exports: [Inbox, InboxHandlers],
})
export class InboxModule {
  constructor(reaper: Reaper, { inboxRetentionDays }: Config) {
    reaper.register({ name: 'inbox', days: inboxRetentionDays, ...APPLIED_MESSAGES });
  }
}

/** The consumer at work, for the worker role. What the same process received is applied at once. */
@Module({
  imports: [BackgroundModule, InboxModule],
  providers: [InboxStore, InboxConsumer],
  exports: [InboxConsumer],
})
export class InboxConsumerModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: BackgroundLoop;

  constructor(
    consumer: InboxConsumer,
    private readonly inbox: Inbox,
    metrics: LoopMetrics,
  ) {
    this.loop = new BackgroundLoop('Inbox', consumer, metrics);
  }

  onApplicationBootstrap(): void {
    this.inbox.onStored(() => this.loop.nudge());
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }
}
