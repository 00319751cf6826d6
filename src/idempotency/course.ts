import type { Tx } from '../database/transaction.js';
import type { Config } from '../config/config.js';
import type { Attempt } from './attempt.js';
import { deriveKey } from './derived-key.js';
import type { Fault } from './fault-points.js';
import type { AnyNext, AnyOperation, AtomicPhase, ForeignCall, Run } from './operation.js';

/** What a call or a look-up said, as far as the engine reads it. */
export interface Outcome {
  readonly status: string;
  readonly reason?: string;
  /** A stored failure: asking again would only repeat it. */
  readonly replayed?: boolean;
  /** A look-up was answered, and found nothing. */
  readonly absent?: boolean;
}

export type Foreign = ForeignCall<unknown, unknown, unknown, Outcome, unknown>;
export type LocalStep = (tx: Tx, run: Run<unknown>) => Promise<AnyNext>;

/** What a caller may add to a run: a fault to inject, and how to cut off its client. */
export interface RunOptions {
  /** By this process's monotonic clock, in ms: nothing new is begun that might end later. */
  readonly deadline?: number;
  readonly fault?: Fault;
  readonly loseReply?: () => void;
}

/** One run of one attempt: the operation as its phases see it. */
export class Course {
  /** Checked before every foreign call: none is made while a transaction of this run is open. */
  transactionOpen = false;

  constructor(
    readonly operation: AnyOperation,
    readonly attempt: Attempt,
    readonly options: RunOptions,
    private readonly config: Config,
  ) {}

  /** @returns undefined for a recovery point that this build does not know */
  phaseAt(point: string): AtomicPhase<unknown, unknown, unknown> | Foreign | undefined {
    const phases = this.operation.phases as Record<string, AtomicPhase<unknown, unknown, unknown> | Foreign>;
    return Object.hasOwn(phases, point) ? phases[point] : undefined;
  }

  runWith(state: unknown): Run<unknown> {
    const { tenantId, id, input, requestId } = this.attempt.execution;
    return { tenantId, id, input, state, requestId, derivedKey: (step) => this.derivedKey(step) };
  }

  derivedKey(step: string): string {
    return deriveKey(this.config, this.attempt.execution.id, step);
  }
}
