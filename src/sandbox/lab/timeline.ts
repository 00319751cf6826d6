/** What every source has told by the time it is this old: two looks at the slowest, and a busy machine. */
const SETTLED_MS = 250;

/**
 * Puts what several sources tell, each a little late, into the order in which it happened. What comes later than
 * that is told when it comes.
 */
export class Timeline<Observation extends { readonly at: number }> {
  private waiting: Observation[] = [];

  add(...observations: Observation[]): void {
    this.waiting.push(...observations);
  }

  /** What is old enough that nothing can still come before it. @param now milliseconds since 1970 */
  release(now: number): Observation[] {
    const until = this.horizon(now);
    const ready = this.waiting.filter(({ at }) => at <= until).sort((one, other) => one.at - other.at);
    this.waiting = this.waiting.filter(({ at }) => at > until);
    return ready;
  }

  /** Up to when everything is known. */
  horizon(now: number): number {
    return now - SETTLED_MS;
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }
}
