import { Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundLoop } from '../background/background-loop.js';
import { BackgroundModule } from '../background/background.module.js';
import { LoopMetrics } from '../background/loop-metrics.js';
import { OutboxModule } from '../outbox/outbox.module.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { OpenRefundStore } from './open-refund.store.js';
import { RefundReconciler } from './refund-reconciler.js';

/** Refunds are due at half a minute at the earliest: to look every few seconds is soon enough. */
const IDLE_MS = 5_000;

/** The refund reconciler at work, for the worker role. */
@Module({
  imports: [BackgroundModule, PaymentsModule, OutboxModule],
  providers: [OpenRefundStore, RefundReconciler],
})
export class RefundReconcilerModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: BackgroundLoop;

  constructor(reconciler: RefundReconciler, metrics: LoopMetrics) {
    this.loop = new BackgroundLoop('RefundReconciler', reconciler, metrics, IDLE_MS);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }
}
