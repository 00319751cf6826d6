import { Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundLoop } from '../background/background-loop.js';
import { BackgroundModule } from '../background/background.module.js';
import { LoopMetrics } from '../background/loop-metrics.js';
import { InboxModule } from '../inbox/inbox.module.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { ConfirmationStore } from './confirmation.store.js';
import { Confirmations } from './confirmations.js';
import { Sweep } from './sweep.js';
import { SweepStore } from './sweep.store.js';

/** It is due a few times a day: a minute later is soon enough. */
const IDLE_MS = 60_000;

/** The sweep at work, for the worker role. */
@Module({
  imports: [BackgroundModule, InboxModule, PaymentsModule],
  providers: [SweepStore, ConfirmationStore, Confirmations, Sweep],
  exports: [Sweep],
})
export class SweepModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: BackgroundLoop;

  constructor(sweep: Sweep, metrics: LoopMetrics) {
    this.loop = new BackgroundLoop('Sweep', sweep, metrics, IDLE_MS);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }
}
