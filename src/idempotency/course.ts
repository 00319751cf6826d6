import type { Tx } from '../database/transaction.js';
import type { Attempt } from './attempt.js';
import { deriveKey } from './derived-key.js';
import type { EngineSettings } from './engine-settings.js';
import type { Fault } from './fault-points.js';
import type {
  AnyNext,
  AnyOperation,
  AtomicPhase,
  ForeignCall,
  Left,
  RecoveryPoint,
  Run,
} from './operation.js';

/** What a call or a look-up said, as far as the engine reads it. */
export interface Outcome {
  readonly status: string;
  readonly reason?: string;
  /** A stored failure: asking again would only repeat it. */
  readonly replayed?: boolean;
  /** A look-up was answered, and found nothing. */
  readonly absent?: boolean;
  /** The other system asks to be left alone for so long. */
  readonly retryAfterSeconds?: number;
  /** An earlier try may have acted; this one certainly did not. */
  readonly harmless?: boolean;
}

export type Foreign = ForeignCall<unknown, unknown, unknown, Outcome, unknown>;
type TurnAside = (left: Left<unknown, unknown>) => RecoveryPoint<string, unknown, unknown>;
export type LocalStep = (tx: Tx, run: Run<unknown>) => Promise<AnyNext>;

/** What the other system said of a step, learnt otherwise: by a webhook, a look-up, or a person's decision. */
export interface KnownOutcome {
  readonly step: string;
  readonly outcome: Outcome;
}

/** How an attempt ended that has no reply. */
export interface EarlyEnd {
  /** For operators; without values of the request. */
  readonly reason: string;
  /** Its call may have acted. */
  readonly inDoubt: boolean;
  /** Speaks against the key: its call may have acted, or it failed, with every other system well. */
  readonly counts: boolean;
  /** Nobody goes on with the key by itself before; at most an hour of it counts. */
  readonly retryAfterSeconds?: number;
}

/** Lets go of the attempt's key. @returns rows changed: 0 when it was no longer the attempt's */
export type Release = (tx: Tx, attempt: Attempt, end: EarlyEnd) => Promise<number>;

/** What a caller may add to a run. */
export interface RunOptions {
  /** In place of the release by which a request leaves the key to its client. */
  readonly release?: Release;
  /** Taken in place of the call to its step, which is then not made. */
  readonly known?: KnownOutcome;
  /** Its client has gone for good: the operation decides whether it is finished, or ends in another way. */
  readonly abandoned?: boolean;
  /** By this process's monotonic clock, in ms: nothing new is begun that might end later. */
  readonly deadline?: number;
  readonly fault?: Fault;
  readonly loseReply?: () => void;
}

/** One run of one attempt: the operation as its phases see it. */
export class Course {
  /** Checked before every foreign call: none is made while a transaction of this run is open. */
  transactionOpen = false;
  /** The recovery points that this run has committed. */
  readonly passed: string[] = [];
  /** Why there is no reply, for the log: what it says to operators, and the error, where that was unexpected. */
  early: { readonly reason: string; readonly review?: true; readonly err?: unknown } | undefined;
  /** A call that was begun, and of which nothing is written down yet: whatever ends the attempt now, it may have acted. */
  underWay: Foreign | undefined;
  private known: KnownOutcome | undefined;

  constructor(
    readonly operation: AnyOperation,
    readonly attempt: Attempt,
    readonly options: RunOptions,
    private readonly settings: EngineSettings,
  ) {
    this.known = options.known;
  }

  /** @returns undefined for a recovery point that this build does not know */
  phaseAt(point: string): AtomicPhase<unknown, unknown, unknown> | Foreign | undefined {
    const phases = this.operation.phases as Record<string, AtomicPhase<unknown, unknown, unknown> | Foreign>;
    return Object.hasOwn(phases, point) ? phases[point] : undefined;
  }

  /** Where an abandoned operation goes on, instead of here. What a person has decided is carried out first. */
  aside(): RecoveryPoint<string, unknown, unknown> | undefined {
    const { recoveryPoint, state, request } = this.attempt;
    if (!this.options.abandoned || request?.known) return undefined;
    const turns = this.operation.whenAbandoned as Record<string, TurnAside | undefined>;
    const turn = Object.hasOwn(turns, recoveryPoint) ? turns[recoveryPoint] : undefined;
    return turn?.({ state, request: request?.body, maybeSent: request?.inDoubt ?? false });
  }

  runWith(state: unknown): Run<unknown> {
    const { tenantId, id, key, input, requestId } = this.attempt.execution;
    return { tenantId, id, key, input, state, requestId, derivedKey: (step) => this.derivedKey(step) };
  }

  /** What is known of `step` without calling; believed once. */
  takeKnown(step: string): Outcome | undefined {
    const { known } = this;
    if (known?.step !== step) return undefined;
    this.known = undefined;
    return known.outcome;
  }

  derivedKey(step: string): string {
    return deriveKey(this.settings, this.attempt.execution.id, step);
  }
}
