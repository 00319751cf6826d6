import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { Database, statement, type Statement } from '../database/transaction.js';

/** Rows that have served, and how long each kind is kept. */
export interface Kept {
  readonly name: 'keys' | 'outbox' | 'inbox';
  /** From the time in the row: a key carries the end of its retention itself. */
  readonly days: number;
  readonly tenants: Statement;
  readonly remove: Statement;
}

/**
 * The reaper's statements. Every time in them is the database's, but what is old must be so by this process's clock too:
 * one of them may have jumped ahead, and what is deleted does not come back.
 */
@Injectable()
export class ReaperStore {
  readonly kept: readonly Kept[];

  constructor(
    private readonly database: Database,
    config: Config,
  ) {
    this.kept = [
      { name: 'keys', days: 0, ...EXPIRED_KEYS },
      { name: 'outbox', days: config.outboxRetentionDays, ...SENT_MESSAGES },
      { name: 'inbox', days: config.inboxRetentionDays, ...APPLIED_MESSAGES },
    ];
  }

  async tenantsWith({ tenants, days }: Kept): Promise<string[]> {
    const rows = await this.database.query<{ tenantId: string }>(tenants, [days, new Date()]);
    return rows.map(({ tenantId }) => tenantId);
  }

  /** Deletes one batch, the oldest first, in a transaction of its own. @returns how many */
  async remove({ remove, days }: Kept, tenantId: string): Promise<number> {
    const rows = await this.database.query(remove, [tenantId, days, new Date()]);
    return rows.length;
  }
}

/** Small, so that no transaction holds many locks. Not a parameter: plans that are kept would guess at it, too high. */
const BATCH = 500;

interface Reaping {
  readonly table: string;
  readonly key: string;
  /** When it had served; null until then. Leads, after the tenant, a partial index on `served`. */
  readonly since: string;
  readonly served: string;
  /** What else must hold of the `candidate`. */
  readonly only?: string;
}

/**
 * Hops from tenant to tenant along the index, and deletes from its old end. A row that somebody has locked is skipped:
 * it is being claimed anew, or another reaper has it.
 */
function reaping({ table, key, since, served, only = 'true' }: Reaping): Pick<Kept, 'tenants' | 'remove'> {
  const before = (days: string, clock: string) =>
    `${since} <= least(now(), ${clock}::timestamptz) - make_interval(days => ${days})`;
  return {
    tenants: statement(
      `reap_tenants_${table}`,
      `WITH RECURSIVE oldest AS (
         (SELECT tenant_id, ${since} FROM ${table} WHERE ${served} ORDER BY tenant_id, ${since} LIMIT 1)
         UNION ALL
         SELECT following.* FROM oldest, LATERAL (
           SELECT tenant_id, ${since} FROM ${table} WHERE ${served} AND tenant_id > oldest.tenant_id
            ORDER BY tenant_id, ${since} LIMIT 1) AS following
       )
       SELECT tenant_id AS "tenantId" FROM oldest WHERE ${before('$1', '$2')}`,
    ),
    remove: statement(
      `reap_${table}`,
      `WITH served AS MATERIALIZED (
         SELECT tenant_id, ${key} FROM ${table} AS candidate
          WHERE tenant_id = $1 AND ${served} AND ${before('$2', '$3')} AND ${only}
          ORDER BY ${since} LIMIT ${BATCH}
          FOR UPDATE SKIP LOCKED
       )
       DELETE FROM ${table} WHERE (tenant_id, ${key}) IN (SELECT tenant_id, ${key} FROM served)
       RETURNING 1`,
    ),
  };
}

/** Whoever has to decide about a key, finished or not, must find it. */
const EXPIRED_KEYS = reaping({
  table: 'idempotency_keys',
  key: 'key',
  since: 'expires_at',
  served: "status = 'finished'",
  only: `NOT EXISTS (SELECT FROM reviews
     WHERE reviews.tenant_id = candidate.tenant_id AND subject_kind = 'idempotency_key' AND subject_id = candidate.id
       AND decided_at IS NULL)`,
});

const SENT_MESSAGES = reaping({
  table: 'outbox_messages',
  key: 'id',
  since: 'sent_at',
  served: 'sent_at IS NOT NULL',
});

const APPLIED_MESSAGES = reaping({
  table: 'inbox_messages',
  key: 'source, id',
  since: 'applied_at',
  served: 'applied_at IS NOT NULL',
});
