import { Injectable, Logger } from '@nestjs/common';
import { Database, type Tx } from '../database/transaction.js';
import type { Outcome } from './course.js';
import { EngineSettings } from './engine-settings.js';
import { heldKey, type HeldKey } from './held-key.js';
import { isLive } from './idempotency-key.row.js';
import { IdempotencyKeyStore } from './idempotency-key.store.js';
import { Operations } from './operations.js';
import { Resumer } from './resumer.js';
import { ReviewStore, type DecidedReview, type Review, type Verdict } from './review.store.js';
import {
  confirmationUnavailable,
  decisionImpossible,
  keyMovedOn,
  notConfirmed,
  reviewAlreadyDecided,
  reviewNotFound,
} from './review.problems.js';

/** What a decision sets off, in the transaction that records it. */
type DecisionEffect = (tx: Tx, decided: DecidedReview) => void;

/**
 * Takes a person's decision about a review. The decision, and the key that it sets free, commit together: from then on
 * whoever comes next to the key carries it out, be it this process, the client's retry or the completer. So do the
 * decision and what it sets off in a subject that is no key.
 */
@Injectable()
export class Decisions {
  private readonly logger = new Logger(Decisions.name);
  private readonly effects = new Map<string, DecisionEffect>();

  constructor(
    private readonly database: Database,
    private readonly reviews: ReviewStore,
    private readonly keys: IdempotencyKeyStore,
    private readonly operations: Operations,
    private readonly resumer: Resumer,
    private readonly settings: EngineSettings,
  ) {}

  /** What decisions about this kind of subject set off. Where nothing is, a review asks for no more than an answer. */
  register(kind: 'charge' | 'refund' | 'event', effect: DecisionEffect): void {
    if (this.effects.has(kind)) throw new Error(`Decisions about a ${kind} have two effects`);
    this.effects.set(kind, effect);
  }

  /**
   * The first decision stands; the same again changes nothing, and goes on where the first was interrupted.
   * @throws Problem 404, 409 (decided otherwise, not possible, not confirmed by the other system), 503 (not asked)
   */
  async decide(id: string, verdict: Verdict): Promise<DecidedReview> {
    const review = await this.find(id);
    const decided = isDecided(review) ? review : await this.record(review, verdict);
    if (!agrees(decided, verdict)) throw reviewAlreadyDecided(decided);
    await this.carryOut(decided).catch((error: unknown) => this.leaveToOthers(decided, error));
    return decided;
  }

  private async find(id: string): Promise<Review | DecidedReview> {
    const review = await this.reviews.find(id);
    if (!review) throw reviewNotFound(id);
    return review;
  }

  private async record(review: Review, verdict: Verdict): Promise<DecidedReview> {
    const held = await this.held(review);
    const known = held && (await outcomeOf(held, verdict));
    const decided = await this.database.transaction(async (tx) => {
      const recorded = await this.reviews.decide(tx, review, verdict);
      if (recorded && held) await this.setFree(tx, held, known);
      if (recorded) this.effects.get(recorded.subjectKind)?.(tx, recorded);
      return recorded;
    });
    return decided ?? ((await this.find(review.id)) as DecidedReview); // somebody else was first
  }

  /** The unfinished key that the review is about, if it is about one. */
  private async held({ tenantId, key, subjectId }: Review): Promise<HeldKey | undefined> {
    if (key === null) return undefined;
    const row = await this.keys.find(tenantId, key);
    if (row?.id !== subjectId || row.status !== 'review') return undefined;
    return heldKey({ tenantId, key }, row, this.operations.find(row.operation), this.settings);
  }

  private async setFree(tx: Tx, held: HeldKey, known: Outcome | undefined): Promise<void> {
    await held.reopen(tx);
    const { tenantId, key, version } = held;
    if ((await this.keys.reopen(tx, tenantId, key, version, known)) !== 1) throw keyMovedOn();
  }

  /** Runs the key, unless somebody else does or has done so. */
  private async carryOut({ tenantId, key, subjectId }: DecidedReview): Promise<void> {
    const row = key === null ? undefined : await this.keys.find(tenantId, key);
    if (key === null || row?.id !== subjectId || row.status !== 'in_progress' || isLive(row)) return;
    const deadline = performance.now() + this.settings.timings.requestDeadline * 1_000;
    await this.resumer.resume(tenantId, key, row, { deadline });
  }

  /** The decision stands, whatever came in its way. */
  private leaveToOthers({ id }: DecidedReview, error: unknown): void {
    this.logger.warn(`Review ${id} is decided, and its key not finished yet: ${(error as Error).message}`);
  }
}

function isDecided(review: Review): review is DecidedReview {
  return review.decidedAt !== null;
}

function agrees(decided: DecidedReview, asked: Verdict): boolean {
  return decided.decision === asked.decision && decided.providerId === asked.providerId;
}

/** What takes the place of the call that the key waits for; undefined where it is to be made, or looked up, again. */
async function outcomeOf(held: HeldKey, verdict: Verdict): Promise<Outcome | undefined> {
  switch (verdict.decision) {
    case 'retry':
      return undefined;
    case 'mark_failed':
      return held.call?.notMade ?? impossible(verdict);
    case 'mark_succeeded':
      return confirmed(held, verdict);
  }
}

async function confirmed({ call, request }: HeldKey, verdict: Verdict): Promise<Outcome> {
  if (!call?.retrieve || verdict.providerId === null) return impossible(verdict);
  const outcome = await call.retrieve(request, verdict.providerId);
  switch (outcome.status) {
    case 'succeeded':
      return outcome;
    case 'unknown':
    case 'not_acted':
      throw confirmationUnavailable(outcome.reason ?? outcome.status);
    default:
      throw notConfirmed(outcome.reason ?? `it is ${outcome.status}`);
  }
}

function impossible({ decision }: Verdict): never {
  throw decisionImpossible(decision);
}
