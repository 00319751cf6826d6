/** For how long the service remembers a finished key, unless it was told otherwise: `x-idempotency-key` in its OpenAPI. */
export const PUBLISHED_RETENTION_HOURS = 72;

/** How often and for how long a request is tried. Times in milliseconds. */
export interface RetryPolicy {
  /** Tries in all, the first included. */
  readonly maxAttempts: number;
  /** From the first send to the last. Must be shorter than the retention: a key that has expired would be a new request. */
  readonly deadline: number;
  /** One try. Longer than the service's own deadline of a request (25 s), so that it can say itself what is unknown. */
  readonly attemptTimeout: number;
  /** The first wait is between 0 and this; each further one may be twice as long… */
  readonly baseDelay: number;
  /** …up to this, and never shorter than the service's Retry-After. */
  readonly maxDelay: number;
  /** What the service keeps its keys for, where that is not the published 72 hours. */
  readonly retentionHours: number;
}

export const DEFAULT_POLICY: RetryPolicy = {
  maxAttempts: 6,
  deadline: 90_000,
  attemptTimeout: 30_000,
  baseDelay: 500,
  maxDelay: 5_000,
  retentionHours: PUBLISHED_RETENTION_HOURS,
};

/** @throws RangeError where the policy could not be kept, or would retry a key that the service has forgotten */
export function checkedPolicy(policy: RetryPolicy): RetryPolicy {
  for (const [name, value] of Object.entries(policy))
    if (typeof value !== 'number' || !(value > 0)) throw new RangeError(`${name} must be a number above 0`);
  if (policy.deadline >= policy.retentionHours * 3_600_000)
    throw new RangeError(
      `deadline must be shorter than the ${policy.retentionHours} hours for which keys are kept: after that, a retry would be a new request`,
    );
  return policy;
}
