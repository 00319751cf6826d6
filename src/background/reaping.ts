import { dueTenants } from '../database/earliest.js';
import { statement, type Statement } from '../database/statement.js';

/** Rows that have served, and how they are found and deleted. */
export interface Served {
  /** Tenants that have some. $1 days, $2 this process's clock. */
  readonly tenants: Statement;
  /** Deletes one batch of a tenant, the oldest first. $1 tenant, $2 days, $3 this process's clock. */
  readonly remove: Statement;
}

interface Reaping {
  readonly table: string;
  readonly key: string;
  /** When it had served; null until then. Leads, after the tenant, a partial index on `served`. */
  readonly since: string;
  readonly served: string;
  /** What else must hold of the `candidate`. */
  readonly only?: string;
}

/** Small, so that no transaction holds many locks, nor a processor for long. Not a parameter: plans that are kept would guess at it, too high. */
const BATCH = 200;

/**
 * Finds tenants by the index, and deletes from its old end. A row that somebody has locked is skipped:
 * it is being claimed anew, or another reaper has it. Every time in it is the database's, but what is old must be so by
 * this process's clock too: one of them may have jumped ahead, and what is deleted does not come back.
 */
export function reaping({ table, key, since, served, only = 'true' }: Reaping): Served {
  const before = (days: string, clock: string) =>
    `least(now(), ${clock}::timestamptz) - make_interval(days => ${days})`;
  return {
    tenants: dueTenants(
      { table, at: since, where: served },
      { name: `reap_tenants_${table}`, until: before('$1', '$2') },
    ),
    remove: statement(
      `reap_${table}`,
      `WITH served AS MATERIALIZED (
         SELECT ${key} FROM ${table} AS candidate
          WHERE tenant_id = $1 AND ${served} AND ${since} <= ${before('$2', '$3')} AND ${only}
          ORDER BY ${since} LIMIT ${BATCH}
          FOR UPDATE SKIP LOCKED
       )
       DELETE FROM ${table} WHERE tenant_id = $1 AND (${key}) IN (SELECT ${key} FROM served)
       RETURNING 1`,
    ),
  };
}
