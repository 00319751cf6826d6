/** What an error from the database means to its caller. SQLSTATE classes: PostgreSQL manual, appendix A. */

function codeOf(error: unknown): string {
  const { code, driverError } = (error ?? {}) as { code?: unknown; driverError?: { code?: unknown } };
  const found = code ?? driverError?.code; // TypeORM wraps pg's error
  return typeof found === 'string' ? found : '';
}

/** A COMMIT answered with one of these did not happen: constraint violation, serialization failure, deadlock. */
export function isRolledBack(error: unknown): boolean {
  return /^(23|40(?!003))/.test(codeOf(error));
}

/** Losing a race that the database decides; the same work may succeed when it is simply done again. */
export function isRetryable(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error));
}

/**
 * A statement was refused because an earlier one of its transaction had failed: 25P02, or 26000 where it was to use
 * a prepared statement whose preparation was refused for that reason.
 */
export function isAborted(error: unknown): boolean {
  return ['25P02', '26000'].includes(codeOf(error));
}

/** How a statement fails that had to change one row, and did not. */
export function isDivisionByZero(error: unknown): boolean {
  return codeOf(error) === '22012';
}

export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

/** There is no connection: refused, lost, or the server is on its way down or up. */
export function isDisconnected(error: unknown): boolean {
  return (
    /^(08|57P|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/.test(codeOf(error)) ||
    saysSo(error)
  );
}

/**
 * The store cannot serve at present, through no fault of the request: connection lost or refused (08, E…),
 * shutting down or cancelled (57), out of resources (53), read-only after a failover (25006),
 * lock wait over (55P03), a role that a migration has not let in (42501), no file descriptor left, or no free connection in the pool; or a pooler gave us a session whose
 * prepared statements are not ours (42P05, 26000): `PREPARED_STATEMENTS=off`.
 */
export function isStoreUnavailable(error: unknown): boolean {
  return isDisconnected(error) || /^(57|53|25006|25P03|55P03|42501|42P05|26000|EMFILE)/.test(codeOf(error));
}

/** pg, where a connection broke or brings what no server says, and TypeORM when it has released one, report these without a code. */
function saysSo(error: unknown): boolean {
  return (
    error instanceof Error &&
    /Connection terminated|received invalid response|Received unexpected|connection timeout|timeout exceeded when trying to connect|Driver not Connected|not queryable|Query read timeout|Cannot use a pool after calling end|Query runner already released/i.test(
      error.message,
    )
  );
}
