import { Injectable } from '@nestjs/common';
import type { RunOptions } from './course.js';
import type { KeyRow } from './idempotency-key.row.js';
import { IdempotencyKeyStore } from './idempotency-key.store.js';
import { recoveryPointUnknown } from './idempotency.problems.js';
import { OperationRunner } from './operation-runner.js';
import { Operations } from './operations.js';
import { takeOver } from './take-over.js';

/** Continues keys that nobody holds, for others than their clients. */
@Injectable()
export class Resumer {
  constructor(
    private readonly store: IdempotencyKeyStore,
    private readonly operations: Operations,
    private readonly runner: OperationRunner,
  ) {}

  /**
   * Runs the stored input to its reply. A live lease is never broken: `row` says what the key looked like, and the takeover is refused where that has changed.
   * @throws KeyTaken, LeaseLost: somebody else has it now. Problem: it ended early, and is released; or cannot be opened
   */
  async resume(tenantId: string, key: string, row: KeyRow, options: RunOptions): Promise<void> {
    const operation = this.operations.find(row.operation);
    if (!operation) throw recoveryPointUnknown();
    await this.runner.run(operation, await takeOver(this.store, tenantId, key, row), options);
  }
}
