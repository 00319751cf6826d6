import { Logger } from '@nestjs/common';
import { isDisconnected } from '../database/errors.js';
import type { LoopMetrics } from './loop-metrics.js';

/** What one round did, by name: `{ claimed: 12, sent: 11, failed: 1 }`. All zero means that nothing was due. */
export type Counts = Readonly<Record<string, number>>;

export interface BackgroundWork {
  /** One round. Once `signal` aborts it starts nothing new and puts back what it has not begun. */
  runOnce(signal: AbortSignal): Promise<Counts>;
}

/**
 * Runs work round after round for as long as the process lives: soon again while there is something to do, after
 * a pause when there is not, after a longer one when a round threw. It logs errors and never dies of one.
 */
export class BackgroundLoop {
  private readonly logger: Logger;
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private failures = 0;
  private nudged = false;
  private endRest = (): void => undefined;
  private endIdleRest = (): void => undefined;

  constructor(
    private readonly name: string,
    private readonly work: BackgroundWork,
    private readonly metrics: LoopMetrics,
    private readonly idleMs = IDLE_MS,
  ) {
    this.logger = new Logger(name);
  }

  start(): void {
    this.running ??= this.run();
  }

  /** There is something to do: cuts an idle pause short. Costs nothing when called often. */
  nudge(): void {
    this.nudged = true;
    this.endIdleRest();
  }

  /** Resolves once the round under way, if any, has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.endRest();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) await this.rest(await this.round());
  }

  private async round(): Promise<Rest> {
    this.nudged = false;
    try {
      const counts = await this.work.runOnce(this.stopping.signal);
      this.failures = 0;
      this.metrics.round(this.name, counts);
      return Object.values(counts).some((count) => count > 0)
        ? BREATH
        : { milliseconds: this.idleMs, idle: true };
    } catch (error) {
      this.metrics.failure(this.name);
      this.report(error);
      return { milliseconds: backoff(this.failures++), idle: false };
    }
  }

  /** Every loop meets an outage of the database, and again and again: one line each says it. */
  private report(error: unknown): void {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    if (!isDisconnected(error)) this.logger.error(stack ?? message);
    else if (this.failures === 0) this.logger.warn(`Waits for the database: ${message}`);
  }

  private rest({ milliseconds, idle }: Rest): Promise<void> {
    if (this.stopping.signal.aborted || (idle && this.nudged)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.endRest = () => {
        clearTimeout(timer);
        resolve();
      };
      this.endIdleRest = idle ? this.endRest : () => undefined;
    });
  }
}

/** Only an idle rest ends when it is nudged: what keeps failing would otherwise fail as often as it is nudged. */
interface Rest {
  readonly milliseconds: number;
  readonly idle: boolean;
}

/** Between two busy rounds, so that what commits meanwhile is taken together, in one transaction instead of many. */
const BREATH: Rest = { milliseconds: 20, idle: false };

/** Other processes commit work without nudging this one: half a second is the most that they add to its age. */
const IDLE_MS = 500;

/** A database that restarts is back within seconds; one that stays away is asked twice a minute. */
const FIRST_ERROR_PAUSE_MS = 500;
const MAX_ERROR_PAUSE_MS = 30_000;

function backoff(failures: number): number {
  return Math.min(MAX_ERROR_PAUSE_MS, FIRST_ERROR_PAUSE_MS * 2 ** failures);
}
