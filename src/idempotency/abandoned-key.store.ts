import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { dueTenants } from '../database/earliest.js';
import { later, statement } from '../database/statement.js';
import { Database, type Tx } from '../database/transaction.js';
import type { Attempt } from './attempt.js';
import type { EarlyEnd } from './course.js';
import { EngineSettings } from './engine-settings.js';
import { fence, FENCED, type Owned } from './fence.js';
import { KEY_COLUMNS, LONGEST_PAUSE_SECONDS, type KeyRow } from './idempotency-key.row.js';
import { Sealing } from './sealing.js';

/** A key that the completer has claimed, and what it knows of its earlier tries. */
export interface AbandonedKey extends KeyRow {
  readonly key: string;
  /** Tries of the completer, before this one, that speak against the key. */
  readonly doubtful_tries: number;
  readonly last_error: string | null;
  /** For how many seconds builds have met it that do not know it; null where none has. */
  readonly unrecognised_for: number | null;
}

/** The completer's statements on `idempotency_keys`. It is an owner like any other, and carries the same fence. */
@Injectable()
export class AbandonedKeyStore {
  private readonly lease: number;
  private readonly windowHours: number;
  private readonly maxTries: number;

  constructor(
    private readonly database: Database,
    private readonly sealing: Sealing,
    settings: EngineSettings,
  ) {
    this.lease = settings.timings.lease;
    this.windowHours = settings.keyWindowHours;
    this.maxTries = settings.completerMaxTries;
  }

  async tenantsWithDueKeys(): Promise<string[]> {
    const rows = await this.database.query<{ tenantId: string }>(DUE_TENANTS);
    return rows.map(({ tenantId }) => tenantId);
  }

  /** Makes the tenant's longest due key the caller's. */
  async claim(tenantId: string): Promise<AbandonedKey | undefined> {
    const values = [tenantId, randomUUID(), this.windowHours, this.lease, Math.random()];
    const [key] = await this.database.query<AbandonedKey>(CLAIM_DUE, values);
    return key && this.sealing.opened(tenantId, key);
  }

  /** Leaves the key until after a backoff; once its tries are used up, not even that long: a person must be asked. */
  putOff(tx: Tx, attempt: Attempt, end: EarlyEnd): Promise<number> {
    const { reason, inDoubt, counts, retryAfterSeconds = 0 } = end;
    const values = [reason, this.lease, Math.random(), inDoubt, counts, this.windowHours, this.maxTries];
    return tx.execute(PUT_OFF, [...fence(attempt), ...values, retryAfterSeconds]);
  }

  /** Leaves a key that this process does not know, or cannot open, to one that does. */
  async passOver(attempt: Owned, reason: string): Promise<void> {
    await this.database.query(PASS_OVER, [...fence(attempt), reason, this.lease, Math.random()]);
  }
}

/**
 * Seconds: exponential from one lease, with full jitter, so that what an outage has piled up does not come at once.
 * 2^20 leases are past the longest backoff, and any higher power might not be a number.
 */
const backoff = (first: string, random: string, failures: string) =>
  `${random}::float8 * least(${LONGEST_PAUSE_SECONDS}, ${first}::float8 * 2 ^ least(20, ${failures}))`;

const DUE_TENANTS = dueTenants(
  { table: 'idempotency_keys', at: 'next_run_at', where: "status = 'in_progress'" },
  { name: 'key_due_tenants' },
);

/**
 * As a takeover by a request, which the row lock decides against. The next run is set here already, one lease and a
 * backoff ahead: a key that kills whoever runs it must not be the first thing the next process finds. Such a try is
 * counted by the claim that follows it: the lease was still there, as nobody had let go of the key.
 */
const CLAIM_DUE = statement(
  'key_claim_due',
  `UPDATE idempotency_keys SET owner = $2, version = version + 1, attempts = attempts + 1,
     in_doubt = in_doubt OR (locked_until IS NOT NULL AND request_derived_key IS NOT NULL),
     doubtful_tries = doubtful_tries + (locked_until IS NOT NULL AND completer_tries > 0)::int,
     completer_tries = completer_tries + 1, locked_until = now() + make_interval(secs => $4),
     next_run_at = ${later(`$4 + ${backoff('$4', '$5', 'completer_tries')}`)}
   WHERE tenant_id = $1 AND key = (
     SELECT key FROM idempotency_keys
      WHERE tenant_id = $1 AND status = 'in_progress' AND next_run_at <= now()
        AND (locked_until IS NULL OR locked_until <= now())
      ORDER BY next_run_at LIMIT 1
      FOR UPDATE SKIP LOCKED)
   RETURNING ${KEY_COLUMNS}, key, doubtful_tries, last_error,
     extract(epoch FROM (SELECT now()) - unrecognised_since)::float8 AS unrecognised_for`,
);

/** Past the other system's retention of derived keys every failed try counts: a key must end at last. */
const COUNTED = '($9 OR created_at < (SELECT now() - make_interval(hours => $10)))::int';

const PUT_OFF = statement(
  'key_put_off',
  `UPDATE idempotency_keys SET locked_until = NULL, version = version + 1, last_error = $5,
     in_doubt = in_doubt OR $8, unrecognised_since = NULL, doubtful_tries = doubtful_tries + ${COUNTED},
     next_run_at = CASE WHEN doubtful_tries + ${COUNTED} >= $11 THEN (SELECT now())
       ELSE ${later(`least(${LONGEST_PAUSE_SECONDS}, $12::float8 + ${backoff('$6', '$7', 'completer_tries - 1')})`)} END
   WHERE ${FENCED}`,
);

const PASS_OVER = statement(
  'key_pass_over',
  `UPDATE idempotency_keys SET locked_until = NULL, version = version + 1, last_error = $5,
     unrecognised_since = least(unrecognised_since, now()),
     next_run_at = ${later(backoff('$6', '$7', 'completer_tries - 1'))}
   WHERE ${FENCED}`,
);
