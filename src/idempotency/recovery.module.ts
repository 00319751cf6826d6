import { Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundLoop } from '../background/background-loop.js';
import { BackgroundModule } from '../background/background.module.js';
import { LoopMetrics } from '../background/loop-metrics.js';
import { ReaperModule } from '../background/reaper.module.js';
import { Reaper } from '../background/reaper.js';
import { AbandonedKeyStore } from './abandoned-key.store.js';
import { Completer } from './completer.js';

/** Nothing waits for the reaper: what has expired counts as absent whether it is there or not. */
const REAPER_IDLE_MS = 60_000;

/** The completer and the reaper at work, for the worker role. */
@Module({ imports: [BackgroundModule, ReaperModule], providers: [AbandonedKeyStore, Completer] })
export class RecoveryModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loops: readonly BackgroundLoop[];

  constructor(completer: Completer, reaper: Reaper, metrics: LoopMetrics) {
    this.loops = [
      new BackgroundLoop('Completer', completer, metrics),
      new BackgroundLoop('Reaper', reaper, metrics, REAPER_IDLE_MS),
    ];
  }

  onApplicationBootstrap(): void {
    for (const loop of this.loops) loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }
}
