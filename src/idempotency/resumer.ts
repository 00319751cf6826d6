import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Attempt } from './attempt.js';
import type { KnownOutcome } from './course.js';
import type { KeyRow } from './idempotency-key.row.js';
import { IdempotencyKeyStore } from './idempotency-key.store.js';
import { recoveryPointUnknown } from './idempotency.problems.js';
import { OperationRunner } from './operation-runner.js';
import { Operations } from './operations.js';
import { KeyTaken } from './ownership.js';

/** Continues keys that nobody holds, with an outcome that was learnt otherwise than by making the call. */
@Injectable()
export class Resumer {
  constructor(
    private readonly store: IdempotencyKeyStore,
    private readonly operations: Operations,
    private readonly runner: OperationRunner,
  ) {}

  /**
   * Runs the stored input to its reply; `known` takes the place of the call to its step. A live lease is never
   * broken: `row` says what the key looked like, and the takeover is refused where that has changed.
   * @throws KeyTaken, LeaseLost: somebody else has it now. Problem: it ended early, and is released
   */
  async resume(tenantId: string, key: string, row: KeyRow, known: KnownOutcome): Promise<void> {
    const operation = this.operations.find(row.operation);
    if (!operation) throw recoveryPointUnknown();
    const leasedAt = performance.now();
    const taken = await this.store.takeOver(tenantId, key, row.version, randomUUID());
    if (!taken) throw new KeyTaken();
    await this.runner.run(operation, Attempt.resumed(tenantId, key, taken, leasedAt), { known });
  }
}
