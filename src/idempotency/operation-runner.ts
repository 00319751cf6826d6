import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Config } from '../config/config.js';
import { isStoreUnavailable } from '../database/errors.js';
import { Database, type Tx } from '../database/transaction.js';
import type { Attempt, FrozenRequest } from './attempt.js';
import { deriveKey } from './derived-key.js';
import type { Fault } from './fault-points.js';
import { IdempotencyKeyStore, type Advance } from './idempotency-key.store.js';
import { LeaseKeeper } from './lease-keeper.js';
import { LocalWork } from './local-work.js';
import {
  Reply,
  type AnyNext,
  type AnyOperation,
  type AtomicPhase,
  type ForeignCall,
  type RecoveryPoint,
  type Run,
} from './operation.js';
import {
  KeyTaken,
  LeaseLost,
  operationInterrupted,
  outcomeUnknown,
  providerUnavailable,
  recoveryPointUnknown,
} from './outcomes.js';
import { Reviews } from './reviews.js';

type Outcome = { readonly status: string; readonly reason?: string; readonly replayed?: boolean };
type Foreign = ForeignCall<unknown, unknown, unknown, Outcome, unknown>;
type AnyPhase = AtomicPhase<unknown, unknown, unknown> | Foreign;
type LocalStep = (tx: Tx, run: Run<unknown>) => Promise<AnyNext>;

/** What a caller may add: a fault to inject, and how to cut off its client. */
export interface RunOptions {
  readonly fault?: Fault;
  readonly loseReply?: () => void;
}

/** One run of one attempt. */
interface Course extends RunOptions {
  readonly operation: AnyOperation;
  readonly attempt: Attempt;
  transactionOpen: boolean;
}

/** Ends an attempt for now: the key is released at its recovery point, and the client is told to come back. */
class GiveUp extends Error {
  constructor(
    readonly reason: string,
    /** What the client is told. */
    readonly answer: Error,
    readonly doubt?: Foreign['doubt'],
  ) {
    super(reason);
  }
}

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
    private readonly leases: LeaseKeeper,
    private readonly reviews: Reviews,
    private readonly config: Config,
  ) {}

  /**
   * @throws KeyTaken, LeaseLost: somebody else has the key. Problem: a 4xx that left no trace, or a 5xx to retry.
   *   Whatever a phase threw before the first commit.
   */
  async run(operation: AnyOperation, attempt: Attempt, options: RunOptions = {}): Promise<Reply> {
    const course: Course = { ...options, operation, attempt, transactionOpen: false };
    const reply = await this.leases.hold(attempt, () => this.finish(course));
    await this.reach(course, 'reply.before_send');
    return reply;
  }

  private async finish(course: Course): Promise<Reply> {
    try {
      return await this.toReply(course);
    } catch (error) {
      throw await this.afterFailure(course, error);
    }
  }

  private async toReply(course: Course): Promise<Reply> {
    for (;;) {
      const phase = phaseAt(course.operation, course.attempt.recoveryPoint);
      if (!phase) throw new GiveUp('recovery point unknown to this build', recoveryPointUnknown());
      const reply = await (phase.kind === 'atomic'
        ? this.local(course, phase.run)
        : this.foreign(course, phase));
      if (reply) return reply;
    }
  }

  private async local(course: Course, first: LocalStep): Promise<Reply | undefined> {
    const reply = await this.joined(course, first);
    await this.reach(course, `phase.after_commit:${reply ? 'finished' : course.attempt.recoveryPoint}`);
    return reply;
  }

  /**
   * Adjacent local phases share one transaction while all goes well. When a later one fails they run one by one, so
   * that a failing phase never takes its predecessors down: a charge that was made is recorded whatever comes next.
   */
  private async joined(course: Course, first: LocalStep): Promise<Reply | undefined> {
    const stretch = new Stretch(this.config, course, first, !this.config.commitEveryPhase);
    try {
      return await this.commit(course, stretch);
    } catch (error) {
      if (stretch.phases < 2 || error instanceof KeyTaken || error instanceof LeaseLost) throw error;
      return await this.commit(course, new Stretch(this.config, course, first, false));
    }
  }

  private async commit(course: Course, stretch: Stretch): Promise<Reply | undefined> {
    course.transactionOpen = true;
    try {
      return await this.localWork.commit(
        course.attempt,
        (tx) => stretch.write(tx),
        (reached, tx) => this.reach(course, `phase.before_commit:${reached}`, tx),
      );
    } finally {
      course.transactionOpen = false;
    }
  }

  private async foreign(course: Course, call: Foreign): Promise<Reply | undefined> {
    if (course.transactionOpen) throw new Error(`${call.step} would be called inside a transaction`);
    const request = frozenRequest(course.attempt);
    await this.checkLease(course.attempt);
    await this.reach(course, `call.before:${call.step}`);
    const outcome = await this.ask(course.attempt, call, request);
    await this.reach(course, `call.after:${call.step}`);
    switch (outcome.status) {
      case 'not_acted':
        throw new GiveUp(outcome.reason ?? 'not acted', providerUnavailable());
      case 'contradicted':
        return this.toReview(course, call, outcome);
      case 'unknown':
        if (request.windowOver) return this.toReview(course, call, outcome);
        throw new GiveUp(outcome.reason ?? 'unknown', outcomeUnknown(), call.doubt);
      default:
        return this.local(course, (tx, run) => call.record(tx, outcome as never, run) as Promise<AnyNext>);
    }
  }

  /**
   * Unknown: once more with the same derived key, then look the effect up. A stored 500 would only be repeated, and
   * past the other system's retention of derived keys nothing may be sent again: both are looked up at once.
   */
  private async ask(
    attempt: Attempt,
    call: Foreign,
    { body, derivedKey, windowOver }: FrozenRequest,
  ): Promise<Outcome> {
    const send = () => call.call(body, derivedKey).catch(asUnknown);
    const find = () => call.find(body).catch(asUnknown);
    if (windowOver) return find();
    let outcome = await send();
    if (outcome.status === 'unknown' && !outcome.replayed && this.hasTimeFor(attempt)) outcome = await send();
    return outcome.status === 'unknown' ? find() : outcome;
  }

  private hasTimeFor(attempt: Attempt): boolean {
    const { providerTimeout, requestDeadline } = this.config.timings;
    return secondsSince(attempt.startedAt) + providerTimeout < requestDeadline;
  }

  /** A process that was stopped for a while asks the database whether it still holds the key, before it acts. */
  private async checkLease(attempt: Attempt): Promise<void> {
    if (secondsSince(attempt.leasedAt) < this.config.timings.lease / 2) return;
    const renewed = await this.store.renew(attempt.execution.tenantId, [attempt]);
    if (renewed !== 1) throw new LeaseLost();
    attempt.leasedAt = performance.now();
  }

  private async toReview({ attempt }: Course, call: Foreign, outcome: Outcome): Promise<never> {
    await this.reviews.open(attempt, {
      reason: outcome.status === 'contradicted' ? 'provider_contradicts' : 'provider_window_over',
      evidence: { step: call.step, derivedKey: attempt.request?.derivedKey, lastError: outcome.reason },
    });
    throw new LeaseLost(); // nobody's now: the answer is what the row says
  }

  /** What the caller is told, once the key is let go of; before the first commit there is nothing to let go of. */
  private async afterFailure(course: Course, error: unknown): Promise<unknown> {
    const { attempt } = course;
    if (attempt.unclaimed || error instanceof KeyTaken || error instanceof LeaseLost) return error;
    const giveUp = error instanceof GiveUp ? error : interrupted(error);
    this.logger.warn({
      msg: 'attempt ended early',
      keyId: attempt.execution.id,
      operation: course.operation.name,
      recoveryPoint: attempt.recoveryPoint,
      reason: giveUp.reason,
      ...(error instanceof GiveUp ? {} : { err: error }),
    });
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

  private async release({ attempt }: Course, { doubt, reason }: GiveUp): Promise<void> {
    await this.database.transaction(async (tx) => {
      await doubt?.(tx, runOf(this.config, attempt, attempt.state));
      if ((await this.store.release(tx, attempt, reason.slice(0, 500))) !== 1) throw new LeaseLost();
    });
  }

  private async reach({ attempt, fault, loseReply }: Course, point: string, tx?: Tx): Promise<void> {
    await fault?.reach(point, {
      ...(tx && { tx }),
      loseReply: loseReply ?? (() => undefined),
      hang: () => this.stall(attempt),
      dropIdle: () =>
        this.database.transaction((each) => Promise.resolve(each.sever())).catch(() => undefined),
    });
  }

  private async stall(attempt: Attempt): Promise<void> {
    this.leases.letGo(attempt);
    await sleep(this.config.timings.lease * 2_000);
  }
}

/** Phases that run one after the other in one transaction, up to a foreign call or the reply. */
class Stretch {
  phases = 0;

  constructor(
    private readonly config: Config,
    private readonly course: Course,
    private readonly first: LocalStep,
    private readonly join: boolean,
  ) {}

  async write(tx: Tx): Promise<Reply | Advance> {
    const { attempt, operation } = this.course;
    this.phases = 1;
    let next = await this.first(tx, runOf(this.config, attempt, attempt.state));
    while (this.join && !(next instanceof Reply)) {
      const phase = phaseAt(operation, next.name);
      if (phase?.kind !== 'atomic') break;
      this.phases++;
      next = (await phase.run(tx, runOf(this.config, attempt, next.state))) as AnyNext;
    }
    return next instanceof Reply ? next : this.advanceTo(next);
  }

  /** The request to the other system is frozen here, with the key it will be sent under. */
  private advanceTo({ name, state, request }: RecoveryPoint<string, unknown, unknown>): Advance {
    const { attempt, operation } = this.course;
    const phase = phaseAt(operation, name);
    if (phase?.kind !== 'foreign') return { recoveryPoint: name, state, request: undefined };
    const derivedKey = deriveKey(this.config, attempt.execution.id, phase.step);
    return { recoveryPoint: name, state, request: { body: request, step: phase.step, derivedKey } };
  }
}

function phaseAt({ phases }: AnyOperation, point: string): AnyPhase | undefined {
  return Object.hasOwn(phases as object, point) ? (phases as Record<string, AnyPhase>)[point] : undefined;
}

function runOf(config: Config, attempt: Attempt, state: unknown): Run<unknown> {
  const { tenantId, id, input, requestId } = attempt.execution;
  return { tenantId, id, input, state, requestId, derivedKey: (step) => deriveKey(config, id, step) };
}

function frozenRequest({ request, recoveryPoint }: Attempt): FrozenRequest {
  if (!request) throw new Error(`No request was frozen at ${recoveryPoint}`);
  return request;
}

function asUnknown(error: unknown): Outcome {
  return { status: 'unknown', reason: error instanceof Error ? error.message : String(error) };
}

function interrupted(error: unknown): GiveUp {
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new GiveUp(reason, isStoreUnavailable(error) ? (error as Error) : operationInterrupted());
}

function secondsSince(time: number): number {
  return (performance.now() - time) / 1_000;
}
