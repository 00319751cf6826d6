import type { Attempt } from './attempt.js';

/** The condition of every write of an attempt: it still owns the key, at the version it knows. Reads `$1` to `$4`. */
export const FENCED = `tenant_id = $1 AND key = $2 AND owner = $3 AND version = $4 AND status = 'in_progress'`;

/** The values that `FENCED` reads. */
export function fence({ execution, owner, version }: Attempt): unknown[] {
  return [execution.tenantId, execution.key, owner, version];
}
