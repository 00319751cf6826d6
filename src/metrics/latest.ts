import { setTimeout as sleep } from 'node:timers/promises';

/** However many ask, the database is asked as often as this at most. */
const KEPT_MS = 5_000;

/** Whoever scrapes gives up after ten seconds or so, and wants the rest as well. */
const PATIENCE_MS = 1_000;

/** The latest answer to a question that may take long, or fail: asked seldom, and never twice at once. */
export class Latest<Answer> {
  private askedAt = -Infinity;
  private answer: Promise<Answer | undefined> = Promise.resolve(undefined);
  private asking = false;

  constructor(
    private readonly ask: () => Promise<Answer>,
    private readonly patienceMs = PATIENCE_MS,
    private readonly keptMs = KEPT_MS,
  ) {}

  /** @returns undefined where there was no answer, or not in time */
  value(): Promise<Answer | undefined> {
    if (!this.asking && performance.now() - this.askedAt >= this.keptMs) this.askAgain();
    return Promise.race([this.answer, sleep(this.patienceMs, undefined, { ref: false })]);
  }

  private askAgain(): void {
    this.askedAt = performance.now();
    this.asking = true;
    this.answer = this.ask()
      .catch(() => undefined)
      .finally(() => (this.asking = false));
  }
}
