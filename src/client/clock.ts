import { setTimeout as sleep } from 'node:timers/promises';

/** Where the client's time comes from, so that a test need not wait for it. Milliseconds throughout. */
export interface Clock {
  now(): number;
  /** @throws where `signal` is aborted first */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** A signal that is aborted once the time is over. */
  timeout(milliseconds: number): AbortSignal;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }),
  timeout: (milliseconds) => AbortSignal.timeout(milliseconds),
};
