import type { Attempt, Execution } from './attempt.js';

/** As much of an attempt as the fence asks for. */
export interface Owned extends Pick<Attempt, 'owner' | 'version'> {
  readonly execution: Pick<Execution, 'tenantId' | 'key'>;
}

/**
 * In words that the index of keys in progress is not made for: to find one key by it would be to read all of them, the
 * dead among them, which made a checkout cost PostgreSQL twice as much.
 */
export const IN_PROGRESS = "status NOT IN ('review', 'finished')";

/** The condition of every write of an attempt: it still owns the key, at the version it knows. Reads `$1` to `$4`. */
export const FENCED = `tenant_id = $1 AND key = $2 AND owner = $3 AND version = $4 AND ${IN_PROGRESS}`;

/** The values that `FENCED` reads. */
export function fence({ execution, owner, version }: Owned): unknown[] {
  return [execution.tenantId, execution.key, owner, version];
}
