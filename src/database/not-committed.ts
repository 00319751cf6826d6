import { isAborted } from './errors.js';
import { NotCarriedOut } from './flight.js';

/**
 * A COMMIT went out and its answer never came back: it may or may not have happened.
 * Only reading what it would have written can tell; repeating it blindly could do the work twice.
 */
export class CommitUnknown extends Error {
  /** SQLSTATE transaction_resolution_unknown: to callers that cannot resolve it, the store is unavailable. */
  readonly code = '08007';

  constructor(override readonly cause: unknown) {
    super('The answer to a COMMIT was lost');
    this.name = 'CommitUnknown';
  }
}

/** PostgreSQL answered COMMIT with ROLLBACK: an error inside the transaction was swallowed by its caller. */
export class CommitRefused extends Error {
  constructor() {
    super('COMMIT was answered with ROLLBACK: a statement had failed and its error was swallowed');
    this.name = 'CommitRefused';
  }
}

/** A write that an invariant says must change one row did not: nothing may commit. */
export class UnexpectedRowCount extends Error {
  constructor(statement: string) {
    super(`${statement} did not change the one row that it had to`);
    this.name = 'UnexpectedRowCount';
  }
}

/** That something else failed before. */
export function isEcho(error: unknown): boolean {
  return error instanceof NotCarriedOut || isAborted(error);
}
