import type { Clock } from '../../src/client/clock.js';

/** Time that passes only while somebody sleeps, and then at once. */
export class FakeClock implements Clock {
  /** What was slept, in milliseconds. */
  readonly slept: number[] = [];
  /** What each try was given, in milliseconds. */
  readonly timeouts: number[] = [];

  /** @param whileAsleep what happens meanwhile */
  constructor(
    private time = Date.parse('2026-01-31T12:00:00Z'),
    private readonly whileAsleep: () => unknown = () => undefined,
  ) {}

  now(): number {
    return this.time;
  }

  pass(milliseconds: number): void {
    this.time += milliseconds;
  }

  async sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    this.slept.push(milliseconds);
    this.pass(milliseconds);
    await this.whileAsleep();
    signal.throwIfAborted();
  }

  /** A try takes no time here, and so never too long. */
  timeout(milliseconds: number): AbortSignal {
    this.timeouts.push(milliseconds);
    return new AbortController().signal;
  }
}
