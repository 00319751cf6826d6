/**
 * The times that hang together, in seconds: each must be shorter than the next, or two owners could act at once.
 * A provider call ends before the request gives up, the request before its lease, the lease before its maximum
 * hold, and the completer waits longest, because a client that retries should always come first.
 */
export interface Timings {
  readonly providerTimeout: number;
  readonly requestDeadline: number;
  readonly lease: number;
  readonly maximumHold: number;
  readonly completerGrace: number;
}

/** All of them from the lease, but for those that are `given`. */
export function timingsOf(
  lease: number,
  given: Partial<Record<keyof Timings, number | undefined>> = {},
): Timings {
  return {
    providerTimeout: given.providerTimeout ?? lease / 3,
    requestDeadline: given.requestDeadline ?? (lease * 5) / 6,
    lease,
    maximumHold: given.maximumHold ?? lease * 4,
    completerGrace: given.completerGrace ?? lease * 10,
  };
}
