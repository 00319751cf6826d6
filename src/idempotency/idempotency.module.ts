import { Module, type DynamicModule } from '@nestjs/common';
import { ReaperModule } from '../background/reaper.module.js';
import { Reaper } from '../background/reaper.js';
import { AttemptKeeper } from './attempt-keeper.js';
import { Decisions } from './decisions.js';
import { EngineSettings } from './engine-settings.js';
import { EXPIRED_KEYS } from './expired-keys.js';
import { IdempotencyKeyStore } from './idempotency-key.store.js';
import { KeyBacklog } from './key-backlog.js';
import { KeyMetrics } from './key-metrics.js';
import { LeaseKeeper } from './lease-keeper.js';
import { LocalWork } from './local-work.js';
import { OperationRunner } from './operation-runner.js';
import { Operations } from './operations.js';
import { Resumer } from './resumer.js';
import { ReviewStore } from './review.store.js';
import { Reviews } from './reviews.js';
import { Sealing } from './sealing.js';

/** The engine. Global, as `@Idempotent()` needs its parts in whichever module the controller is. */
@Module({
  imports: [ReaperModule],
  providers: [
    AttemptKeeper,
    IdempotencyKeyStore,
    KeyBacklog,
    KeyMetrics,
    LeaseKeeper,
    LocalWork,
    OperationRunner,
    Operations,
    Resumer,
    Reviews,
    ReviewStore,
    Sealing,
    Decisions,
  ],
  exports: [
    IdempotencyKeyStore,
    KeyMetrics,
    LeaseKeeper,
    OperationRunner,
    Operations,
    Resumer,
    Reviews,
    Sealing,
    Decisions,
  ],
})
export class IdempotencyModule {
  constructor(reaper: Reaper) {
    reaper.register(EXPIRED_KEYS);
  }

  static for(settings: EngineSettings): DynamicModule {
    return {
      module: IdempotencyModule,
      global: true,
      providers: [{ provide: EngineSettings, useValue: settings }],
      exports: [EngineSettings],
    };
  }
}
