import { Global, Module } from '@nestjs/common';
import { AttemptKeeper } from './attempt-keeper.js';
import { Decisions } from './decisions.js';
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

/** The engine. Global, as `@Idempotent()` needs its parts in whichever module the controller is. */
@Global()
@Module({
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
    Decisions,
  ],
})
export class IdempotencyModule {}
