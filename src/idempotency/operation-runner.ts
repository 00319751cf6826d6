import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Database, type Tx } from '../database/transaction.js';
import { ask } from './ask.js';
import { AttemptKeeper } from './attempt-keeper.js';
import type { Attempt, FrozenRequest } from './attempt.js';
import {
  Course,
  type Foreign,
  type LocalStep,
  type Outcome,
  type Release,
  type RunOptions,
} from './course.js';
import { EngineSettings } from './engine-settings.js';
import { GiveUp, interrupted } from './give-up.js';
import { IdempotencyKeyStore } from './idempotency-key.store.js';
import { LocalWork } from './local-work.js';
import type { AnyOperation, Reply } from './operation.js';
import { outcomeUnknown, providerUnavailable, recoveryPointUnknown } from './idempotency.problems.js';
import { KeyTaken, LeaseLost } from './ownership.js';
import { Reviews } from './reviews.js';
import { Stretch } from './stretch.js';

/**
 * Runs an operation from the attempt's recovery point to its reply. Local work runs until the next foreign call and
 * commits once; the call is made with no transaction open; its outcome is recorded, and so on to the reply.
 */
@Injectable()
export class OperationRunner {
  private readonly logger = new Logger(OperationRunner.name);

  constructor(
    private readonly database: Database,
    private readonly store: IdempotencyKeyStore,
    private readonly localWork: LocalWork,
    private readonly attempts: AttemptKeeper,
    private readonly reviews: Reviews,
    private readonly settings: EngineSettings,
  ) {}

  /**
   * @throws KeyTaken, LeaseLost: somebody else has the key. Problem: a 4xx that left no trace, or a 5xx to retry.
   *   Whatever a phase threw before the first commit.
   */
  async run(operation: AnyOperation, attempt: Attempt, options: RunOptions = {}): Promise<Reply> {
    const course = new Course(operation, attempt, options, this.settings);
    return await this.attempts.keep(course, () => this.finish(course));
  }

  private async finish(course: Course): Promise<Reply> {
    try {
      const reply = await this.toReply(course);
      await this.reach(course, 'reply.before_send');
      return reply;
    } catch (error) {
      throw await this.afterFailure(course, error);
    }
  }

  private async toReply(course: Course): Promise<Reply> {
    const ended = await this.turnAside(course);
    if (ended) return ended;
    for (;;) {
      const phase = course.phaseAt(course.attempt.recoveryPoint);
      if (!phase) throw new GiveUp('recovery point unknown to this build', recoveryPointUnknown());
      const reply = await (phase.kind === 'atomic'
        ? this.local(course, phase.run)
        : this.foreign(course, phase));
      if (reply) return reply;
    }
  }

  /** An operation whose client has gone for good may have another end than to be finished. */
  private async turnAside(course: Course): Promise<Reply | undefined> {
    const point = course.aside();
    return point && this.local(course, async () => point);
  }

  private async local(course: Course, first: LocalStep): Promise<Reply | undefined> {
    const reply = await this.joined(course, first);
    const reached = reply ? 'finished' : course.attempt.recoveryPoint;
    course.passed.push(reached);
    await this.reach(course, `phase.after_commit:${reached}`);
    return reply;
  }

  /**
   * Adjacent local phases share one transaction while all goes well. When a later one fails they run one by one, so
   * that a failing phase never takes its predecessors down: a charge that was made is recorded whatever comes next.
   */
  private async joined(course: Course, first: LocalStep): Promise<Reply | undefined> {
    const stretch = new Stretch(course, first, !this.settings.commitEveryPhase);
    try {
      return await this.commit(course, stretch);
    } catch (error) {
      if (stretch.phases < 2 || error instanceof KeyTaken || error instanceof LeaseLost) throw error;
      return await this.commit(course, new Stretch(course, first, false));
    }
  }

  private async commit(course: Course, stretch: Stretch): Promise<Reply | undefined> {
    course.transactionOpen = true;
    try {
      const reply = await this.localWork.commit(
        course.attempt,
        (tx) => stretch.write(tx),
        (reached, tx) => this.reach(course, `phase.before_commit:${reached}`, tx),
      );
      course.underWay = undefined; // what it came to is written down
      return reply;
    } finally {
      course.transactionOpen = false;
    }
  }

  private async foreign(course: Course, call: Foreign): Promise<Reply | undefined> {
    if (course.transactionOpen) throw new Error(`${call.step} would be called inside a transaction`);
    const request = frozenRequest(course.attempt);
    const outcome = course.takeKnown(call.step) ?? request.known ?? (await this.call(course, call, request));
    const { status, reason = status, retryAfterSeconds, harmless = false } = outcome;
    switch (status) {
      case 'not_acted':
        throw new GiveUp(reason, providerUnavailable(retryAfterSeconds), { retryAfterSeconds });
      case 'contradicted':
        return this.toReview(course, call, outcome);
      case 'unknown':
        if (outcome.absent && (request.windowOver || !call.find)) return this.toReview(course, call, outcome);
        throw new GiveUp(reason, outcomeUnknown(retryAfterSeconds), {
          doubted: call,
          counts: !harmless,
          retryAfterSeconds,
        });
      default:
        return this.local(course, (tx, run) => call.record(tx, outcome, run));
    }
  }

  private async call(course: Course, call: Foreign, request: FrozenRequest): Promise<Outcome> {
    await this.checkLease(course.attempt);
    await this.reach(course, `call.before:${call.step}`);
    course.underWay = call;
    const outcome = await ask(call, request, () => this.hasTime(course));
    await this.reach(course, `call.after:${call.step}`);
    return outcome;
  }

  /** For one more call to the other system, before the client is told to come back. */
  private hasTime({ options: { deadline = Infinity } }: Course): boolean {
    return performance.now() + this.settings.timings.providerTimeout * 1_000 < deadline;
  }

  /** A process that was stopped for a while asks the database whether it still holds the key, before it acts. */
  private async checkLease(attempt: Attempt): Promise<void> {
    const askedAt = performance.now();
    if (askedAt - attempt.leasedAt < this.settings.timings.lease * 500) return;
    if (!(await this.store.hold(attempt))) throw new LeaseLost();
    attempt.leasedAt = askedAt;
  }

  /** @throws LeaseLost: nobody's now, the answer is what the row says */
  private async toReview(course: Course, call: Foreign, outcome: Outcome): Promise<never> {
    const { attempt } = course;
    await this.reviews.open(attempt, {
      reason: reasonOf(outcome, call),
      evidence: { step: call.step, derivedKey: attempt.request?.derivedKey, lastError: outcome.reason },
      mark: async (tx) => call.doubt?.(tx, course.runWith(attempt.state), 'review'),
    });
    course.early = { reason: outcome.reason ?? outcome.status, review: true };
    throw new LeaseLost();
  }

  /** What the caller is told, once the key is let go of; before the first commit there is nothing to let go of. */
  private async afterFailure(course: Course, error: unknown): Promise<unknown> {
    const { attempt } = course;
    if (attempt.unclaimed || error instanceof KeyTaken || error instanceof LeaseLost) return error;
    const giveUp = error instanceof GiveUp ? error : interrupted(error, course.underWay);
    course.early = { reason: giveUp.reason, ...(error instanceof GiveUp ? {} : { err: error }) };
    try {
      await this.release(course, giveUp);
      return giveUp.answer;
    } catch (failure) {
      if (failure instanceof LeaseLost) return failure;
      this.logger.error({
        msg: 'key not released; its lease will end',
        keyId: attempt.execution.id,
        err: failure,
      });
      return giveUp.answer;
    }
  }

  private async release(course: Course, { reason, how }: GiveUp): Promise<void> {
    const { doubted, counts = false, retryAfterSeconds = 0 } = how;
    const { attempt, options } = course;
    const release: Release = options.release ?? ((...end) => this.store.release(...end));
    const end = { reason: reason.slice(0, 500), inDoubt: doubted !== undefined, counts, retryAfterSeconds };
    await this.database.transaction(async (tx) => {
      await doubted?.doubt?.(tx, course.runWith(attempt.state), 'unknown');
      if ((await release(tx, attempt, end)) !== 1) throw new LeaseLost();
    });
  }

  private async reach(
    { attempt, options: { fault, loseReply } }: Course,
    point: string,
    tx?: Tx,
  ): Promise<void> {
    await fault?.reach(point, {
      ...(tx && { tx }),
      loseReply: loseReply ?? (() => undefined),
      hang: () => this.stall(attempt),
      dropIdle: () =>
        this.database.transaction((each) => Promise.resolve(each.sever())).catch(() => undefined),
    });
  }

  private async stall(attempt: Attempt): Promise<void> {
    this.attempts.letGo(attempt);
    await sleep(this.settings.timings.lease * 2_000);
  }
}

/** Why no program may decide what came of the call. */
function reasonOf({ status }: Outcome, { find }: Foreign): string {
  if (status === 'contradicted') return 'provider_contradicts';
  return find ? 'provider_window_over' : 'outcome_cannot_be_found';
}

function frozenRequest({ request, recoveryPoint }: Attempt): FrozenRequest {
  if (!request) throw new Error(`No request was frozen at ${recoveryPoint}`);
  return request;
}
