import { Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundLoop } from '../background/background-loop.js';
import { BackgroundModule } from '../background/background.module.js';
import { LoopMetrics } from '../background/loop-metrics.js';
import { OutboxModule } from '../outbox/outbox.module.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { OpenChargeStore } from './open-charge.store.js';
import { Reconciler } from './reconciler.js';

/** Charges are due at half a minute at the earliest: to look every few seconds is soon enough. */
const IDLE_MS = 5_000;

/** The reconciler at work, for the worker role. */
@Module({
  imports: [BackgroundModule, PaymentsModule, OutboxModule],
  providers: [OpenChargeStore, Reconciler],
  exports: [Reconciler],
})
export class ReconcilerModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: BackgroundLoop;

  constructor(reconciler: Reconciler, metrics: LoopMetrics) {
    this.loop = new BackgroundLoop('Reconciler', reconciler, metrics, IDLE_MS);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }
}
