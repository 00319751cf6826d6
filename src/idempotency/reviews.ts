import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../database/transaction.js';
import type { Attempt } from './attempt.js';
import { IdempotencyKeyStore } from './idempotency-key.store.js';
import { openReview } from './open-review.js';
import { LeaseLost } from './ownership.js';

export interface ReviewQuestion {
  /** A stable code for why a person is asked. */
  readonly reason: string;
  /** What is known; no secrets, no values of the request. */
  readonly evidence: Readonly<Record<string, unknown>>;
  /** Marks the business rows that the question is about. */
  readonly mark: (tx: Tx) => Promise<void>;
}

/** Opens questions that no program may decide. From then on nothing runs the key until a person has answered. */
@Injectable()
export class Reviews {
  constructor(
    private readonly database: Database,
    private readonly store: IdempotencyKeyStore,
  ) {}

  /** @throws LeaseLost */
  async open(attempt: Attempt, { reason, evidence, mark }: ReviewQuestion): Promise<void> {
    const { tenantId, key, id } = attempt.execution;
    await this.database.transaction(async (tx) => {
      await mark(tx);
      openReview(tx, { tenantId, subject: { kind: 'idempotency_key', id, key }, reason, evidence });
      if ((await this.store.toReview(tx, attempt, reason)) !== 1) throw new LeaseLost();
    });
  }
}
