/**
 * How long PostgreSQL lets the service's sessions take, in milliseconds. They scale with the lease (seconds), which no
 * write may outlive.
 */
export function sessionTimeouts(lease: number) {
  return {
    // No statement may outlive the lease of the attempt that sent it.
    statement_timeout: Math.min(20_000, Math.round(lease * 500)),
    // A phase waits for a few local milliseconds of another; longer is a fault, answered 409 or 503. Above
    // PostgreSQL's deadlock_timeout of 1 s, so that a deadlock is found to be one, and tried again.
    lock_timeout: Math.min(2_000, Math.round(lease * 400)),
    // Nothing is called with a transaction open; one that idles belongs to a process that hangs.
    idle_in_transaction_session_timeout: Math.round(lease * 500),
  };
}

/** For the answer of a statement that was cancelled at the last moment to arrive. */
const ON_ITS_WAY_MS = 1_000;

/**
 * A connection that has answered nothing for this long, in milliseconds, is half-open: PostgreSQL would have cancelled
 * the statement. Until then it holds a place in the pool, and a request waits with it.
 */
export function answerTimeout(lease: number): number {
  return sessionTimeouts(lease).statement_timeout + ON_ITS_WAY_MS;
}

/**
 * How long a request waits for a free or a new connection before it is answered 503, in milliseconds: its deadline is
 * half a lease further off. Tools have no lease, and wait the longest.
 */
export function connectTimeout(lease = Infinity): number {
  return Math.min(5_000, Math.round(lease * 300));
}
