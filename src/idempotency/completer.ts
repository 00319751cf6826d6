import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { inParallel } from '../background/in-parallel.js';
import type { Tx } from '../database/transaction.js';
import { AbandonedKeyStore, type AbandonedKey } from './abandoned-key.store.js';
import { Attempt } from './attempt.js';
import { Course } from './course.js';
import { EngineSettings } from './engine-settings.js';
import { IdempotencyKeyStore } from './idempotency-key.store.js';
import type { AnyOperation, Reply } from './operation.js';
import { OperationRunner } from './operation-runner.js';
import { Operations } from './operations.js';
import { KeyTaken, LeaseLost } from './ownership.js';
import { Reviews } from './reviews.js';
import { isUnreadable } from './sealing.problems.js';

/**
 * What became of the keys of one round. `putOff`: not finished, due again after a backoff; `inReview`: a person must
 * decide; `lost`: somebody else has it, or it hangs.
 */
export type CompleterCounts = Record<'claimed' | End, number>;

type End = 'finished' | 'putOff' | 'inReview' | 'lost';

/** Each key that runs uses one connection of the pool at a time. */
const TENANTS_AT_ONCE = 4;
/** What an outage has piled up drains at this rate: a provider that is back must not be met by all of it. */
const KEYS_AT_ONCE = 4;
/** For so long a round begins keys of one tenant, so that a tenant with many does not hold up the others. */
const BEGIN_WITHIN_MS = 2_000;

/**
 * Finishes the keys whose client is gone: runs the same operation with the stored input, as one more owner, in any
 * number of processes. What fails is put off with a backoff; what speaks against the key itself is counted, and at
 * the cap a person is asked. So a key that always fails, hangs or kills its process stops no other, and ends.
 */
@Injectable()
export class Completer {
  private readonly logger = new Logger(Completer.name);

  constructor(
    private readonly abandoned: AbandonedKeyStore,
    private readonly keys: IdempotencyKeyStore,
    private readonly operations: Operations,
    private readonly runner: OperationRunner,
    private readonly reviews: Reviews,
    private readonly settings: EngineSettings,
  ) {}

  async runOnce(signal: AbortSignal = new AbortController().signal): Promise<CompleterCounts> {
    const counts = { claimed: 0, finished: 0, putOff: 0, inReview: 0, lost: 0 };
    const tenants = await this.abandoned.tenantsWithDueKeys();
    await inParallel(TENANTS_AT_ONCE, tenants, async (tenantId) => {
      const lastBegin = performance.now() + BEGIN_WITHIN_MS;
      const mayBegin = (): boolean => !signal.aborted && performance.now() < lastBegin;
      const slots = Array.from({ length: KEYS_AT_ONCE }, () => tenantId);
      await inParallel(KEYS_AT_ONCE, slots, () => this.completeDue(tenantId, mayBegin, counts));
    });
    return counts;
  }

  /** One key after the other: one that is slow holds up none but itself. */
  private async completeDue(
    tenantId: string,
    mayBegin: () => boolean,
    counts: CompleterCounts,
  ): Promise<void> {
    while (mayBegin()) {
      const leasedAt = performance.now();
      const row = await this.abandoned.claim(tenantId);
      if (!row) return;
      counts.claimed++;
      counts[await this.complete(tenantId, row, leasedAt)]++;
    }
  }

  private async complete(tenantId: string, row: AbandonedKey, leasedAt: number): Promise<End> {
    try {
      const attempt = Attempt.resumed(tenantId, row.key, row, leasedAt);
      const operation = this.operations.find(row.operation);
      const course = operation && new Course(operation, attempt, {}, this.settings);
      if (!course?.phaseAt(row.recovery_point)) return await this.unrecognised(row, attempt);
      if (row.doubtful_tries >= this.settings.completerMaxTries) return await this.usedUp(row, course);
      return await this.run(course.operation, attempt);
    } catch (error) {
      if (error instanceof LeaseLost) return 'lost';
      if (isUnreadable(error)) return this.unreadable(tenantId, row, error.message);
      this.logger.error({ msg: 'key not put off; its lease will end', keyId: row.id, err: error });
      return 'lost';
    }
  }

  private async run(operation: AnyOperation, attempt: Attempt): Promise<End> {
    const { requestDeadline } = this.settings.timings;
    try {
      await this.withinHold(
        this.runner.run(operation, attempt, {
          abandoned: true,
          deadline: performance.now() + requestDeadline * 1_000,
          release: (...end) => this.abandoned.putOff(...end),
        }),
      );
      return 'finished';
    } catch (error) {
      return error instanceof LeaseLost || error instanceof KeyTaken ? this.afterLoss(attempt) : 'putOff';
    }
  }

  /** An attempt that hangs is left behind: its lease ends, and the fence refuses whatever it still does. */
  private async withinHold(run: Promise<Reply>): Promise<Reply> {
    const settled = new AbortController();
    const options = { ref: false, signal: settled.signal };
    const limit = sleep(this.settings.timings.maximumHold * 1_000, undefined, options).then(() => {
      throw new LeaseLost();
    });
    try {
      return await Promise.race([run, limit]);
    } finally {
      settled.abort();
    }
  }

  /** The key was taken over, or it was the attempt itself that left it to a person. */
  private async afterLoss({ execution: { tenantId, key } }: Attempt): Promise<End> {
    const row = await this.keys.find(tenantId, key);
    return row?.status === 'review' ? 'inReview' : 'lost';
  }

  /** A rolling deploy ends within the hour; what no build knows by then, none will. */
  private async unrecognised(row: AbandonedKey, attempt: Attempt): Promise<End> {
    if ((row.unrecognised_for ?? 0) >= UNRECOGNISED_SECONDS) {
      return this.toReview(row, attempt, 'recovery_point_unknown', async () => undefined);
    }
    await this.abandoned.passOver(attempt, `${row.operation} at ${row.recovery_point} unknown to this build`);
    return 'putOff';
  }

  /** Never a question for a person: it goes on by itself once a process has the key that opens it. */
  private async unreadable(tenantId: string, row: AbandonedKey, reason: string): Promise<End> {
    const { id: keyId, key, owner, version } = row;
    this.logger.error({ msg: 'key left alone: what it stores does not open', keyId, reason });
    await this.abandoned.passOver({ execution: { tenantId, key }, owner, version }, reason);
    return 'putOff';
  }

  /** The business rows are marked too; where that is what fails, a person is asked all the same. */
  private usedUp(row: AbandonedKey, course: Course): Promise<End> {
    const { attempt } = course;
    const phase = course.phaseAt(row.recovery_point);
    const doubt = phase?.kind === 'foreign' ? phase.doubt : undefined;
    const mark = async (tx: Tx) => doubt?.(tx, course.runWith(attempt.state), 'review');
    return this.toReview(row, attempt, 'tries_used_up', mark).catch((error: unknown) => {
      if (error instanceof LeaseLost) throw error;
      return this.toReview(row, attempt, 'tries_used_up', async () => undefined);
    });
  }

  private async toReview(
    row: AbandonedKey,
    attempt: Attempt,
    reason: string,
    mark: (tx: Tx) => Promise<void>,
  ): Promise<End> {
    const evidence = {
      operation: row.operation,
      recoveryPoint: row.recovery_point,
      derivedKey: row.request_derived_key,
      attempts: row.attempts,
      lastError: row.last_error,
    };
    await this.reviews.open(attempt, { reason, evidence, mark });
    this.logger.warn({ msg: 'key left to a person', keyId: row.id, reason });
    return 'inReview';
  }
}

const UNRECOGNISED_SECONDS = 3_600;
