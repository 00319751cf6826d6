import { Injectable } from '@nestjs/common';
import { changesOneRow, statement } from '../database/statement.js';
import { Database, type Tx } from '../database/transaction.js';
import type { Advance, Attempt, Claim } from './attempt.js';
import { advanceValues, CLAIM, CLAIM_UNSEEN, claimValues } from './claim.js';
import type { EarlyEnd } from './course.js';
import { EngineSettings } from './engine-settings.js';
import { fence, FENCED, IN_PROGRESS } from './fence.js';
import { KEY_COLUMNS, LONGEST_PAUSE_SECONDS, type KeyRow } from './idempotency-key.row.js';
import type { Reply } from './operation.js';
import { KeyTaken, LeaseLost } from './ownership.js';
import { Sealing } from './sealing.js';

/**
 * The statements on `idempotency_keys`, one method each. Every write of an attempt carries its owner token and
 * version; 0 rows mean that the attempt has lost its lease, and must change nothing.
 */
@Injectable()
export class IdempotencyKeyStore {
  readonly lease: number;
  readonly grace: number;
  readonly retentionHours: number;
  private readonly windowHours: number;

  constructor(
    private readonly database: Database,
    private readonly sealing: Sealing,
    settings: EngineSettings,
  ) {
    this.lease = settings.timings.lease;
    this.grace = settings.timings.completerGrace;
    this.retentionHours = settings.retentionHours;
    this.windowHours = settings.keyWindowHours;
  }

  async find(tenantId: string, key: string): Promise<KeyRow | undefined> {
    const [row] = await this.database.query<KeyRow>(FIND, [tenantId, key, this.windowHours]);
    return row && this.sealing.opened(tenantId, row);
  }

  /** As `find`, but waits for a transaction that is still writing the row: the truth after a lost COMMIT answer. */
  async findSettled(tenantId: string, key: string): Promise<KeyRow | undefined> {
    const [row] = await this.database.query<KeyRow>(FIND_SETTLED, [tenantId, key, this.windowHours]);
    return row && this.sealing.opened(tenantId, row);
  }

  /**
   * Makes the key this attempt's; a row that is finished and expired is replaced. Where it is known by the time that the
   * statement leaves what the first transaction comes to, the row is written once, as that leaves it.
   * @throws KeyTaken at commit, where it is anybody else's
   */
  claim(tx: Tx, attempt: Attempt, claim: Claim, end: () => Reply | Advance | undefined): Promise<void> {
    const statement = claim.looked ? CLAIM : CLAIM_UNSEEN;
    return tx.changeOne(statement, () => claimValues(attempt, claim, end(), this, this.sealing), keyTaken);
  }

  /** @throws LeaseLost at commit, where the attempt does not own the key any more */
  advance(tx: Tx, attempt: Attempt, advance: Advance): void {
    const { execution } = attempt;
    const values = advanceValues(advance, execution, this.sealing);
    const seal = [this.inputToSealAnew(attempt), this.sealing.writesWith];
    tx.sendOne(ADVANCE, [...fence(attempt), ...values, this.lease, ...seal], leaseLost);
  }

  /** @throws LeaseLost at commit, where the attempt does not own the key any more */
  finish(tx: Tx, attempt: Attempt, { status, headers, body }: Reply): void {
    const sealed = this.sealing.seal(attempt.execution, 'reply_body', body);
    const values = [status, JSON.stringify(headers), sealed, this.retentionHours, this.sealing.writesWith];
    tx.sendOne(FINISH, [...fence(attempt), ...values], leaseLost);
  }

  /** Lets go of a key that is not finished: the next request may take it over at once. */
  release(tx: Tx, attempt: Attempt, { reason, inDoubt, retryAfterSeconds = 0 }: EarlyEnd): Promise<number> {
    const untouched = Math.max(this.grace, Math.min(retryAfterSeconds, LONGEST_PAUSE_SECONDS));
    return tx.execute(RELEASE, [...fence(attempt), reason, untouched, inDoubt]);
  }

  /** Leaves the key to a person. */
  toReview(tx: Tx, attempt: Attempt, reason: string): Promise<number> {
    return tx.execute(TO_REVIEW, [...fence(attempt), reason]);
  }

  /**
   * Gives a key that a person has decided about back to whoever comes next. `seen` is the version it was read at;
   * `known` takes the place of the call that it waits for.
   */
  reopen(tx: Tx, tenantId: string, key: string, seen: number, known: unknown): Promise<number> {
    return tx.execute(REOPEN, [tenantId, key, seen, JSON.stringify(known) ?? null, this.lease]);
  }

  /** A new owner for a key whose lease is over; `seen` is the version it was read at. */
  async takeOver(tenantId: string, key: string, seen: number, owner: string): Promise<KeyRow | undefined> {
    const values = [tenantId, key, this.windowHours, seen, owner, this.lease, this.grace];
    const [row] = await this.database.query<KeyRow>(TAKE_OVER, values);
    return row && this.sealing.opened(tenantId, row);
  }

  /** Asks whether the attempt still holds its key, and extends its lease if so. */
  async hold(attempt: Attempt): Promise<boolean> {
    const rows = await this.database.query(HOLD, [...fence(attempt), this.lease]);
    return rows.length === 1;
  }

  /** Extends the leases of one tenant's attempts that still hold them. A row locked by its own phase is skipped. */
  async renew(tenantId: string, attempts: readonly Attempt[]): Promise<number> {
    const rows = await this.database.queryReserved(RENEW, [
      tenantId,
      attempts.map(({ execution }) => execution.key),
      attempts.map(({ owner }) => owner),
      attempts.map(({ version }) => version),
      this.lease,
    ]);
    return rows.length;
  }

  /** One key opens a whole row. @returns null where the input is written with that key already */
  private inputToSealAnew({ execution, sealedWith }: Attempt): string | null {
    if (sealedWith === undefined || sealedWith === this.sealing.writesWith) return null;
    return this.sealing.sealJson(execution, 'input', execution.input);
  }
}

const keyTaken = () => new KeyTaken();
const leaseLost = () => new LeaseLost();

const FIND = statement(
  'key_find',
  `SELECT ${KEY_COLUMNS} FROM idempotency_keys WHERE tenant_id = $1 AND key = $2`,
);

const FIND_SETTLED = statement('key_find_settled', `${FIND.text} FOR UPDATE`);

/**
 * A call that goes on at another recovery point, under the same derived key, keeps its past. The time is a subquery, as
 * Citus takes no now() in a CASE of a write.
 */
const ADVANCE = changesOneRow(
  'key_advance',
  `UPDATE idempotency_keys SET recovery_point = $5, state = $6, request = $7, request_step = $8,
     request_derived_key = $9,
     first_sent_at = CASE WHEN $9::text IS NULL THEN NULL WHEN request_derived_key = $9 THEN first_sent_at
       ELSE (SELECT now()) END,
     in_doubt = in_doubt AND $9::text IS NOT DISTINCT FROM request_derived_key, known_outcome = NULL, unrecognised_since = NULL, version = version + 1,
     locked_until = now() + make_interval(secs => $10), input = coalesce($11::json, input), sealed_with = $12
   WHERE ${FENCED}`,
);

const FINISH = changesOneRow(
  'key_finish',
  `UPDATE idempotency_keys SET status = 'finished', recovery_point = 'finished', state = NULL, input = NULL,
     request = NULL, known_outcome = NULL, version = version + 1, locked_until = NULL, reply_status = $5, reply_headers = $6,
     reply_body = $7, completed_at = now(), expires_at = now() + make_interval(hours => $8), sealed_with = $9
   WHERE ${FENCED}`,
);

const RELEASE = statement(
  'key_release',
  `UPDATE idempotency_keys SET locked_until = NULL, version = version + 1, last_error = $5,
     next_run_at = now() + make_interval(secs => $6), in_doubt = in_doubt OR $7
   WHERE ${FENCED}`,
);

const TO_REVIEW = statement(
  'key_to_review',
  `UPDATE idempotency_keys SET status = 'review', locked_until = NULL, version = version + 1, last_error = $5
   WHERE ${FENCED}`,
);

/**
 * Its call may have been made, whatever the next try says. Due one lease later, with all its tries before it: the
 * completer carries the decision out where the process that took it has died.
 */
const REOPEN = statement(
  'key_reopen',
  `UPDATE idempotency_keys SET status = 'in_progress', version = version + 1, known_outcome = $4,
     in_doubt = in_doubt OR request_derived_key IS NOT NULL, completer_tries = 0,
     doubtful_tries = 0, unrecognised_since = NULL, next_run_at = now() + make_interval(secs => $5)
   WHERE tenant_id = $1 AND key = $2 AND version = $3 AND status = 'review'`,
);

const HOLD = statement(
  'key_hold',
  `UPDATE idempotency_keys SET locked_until = now() + make_interval(secs => $5) WHERE ${FENCED} RETURNING key`,
);

/** An attempt that did not release its key died, perhaps while its call was out: that call is in doubt. */
const TAKE_OVER = statement(
  'key_take_over',
  `UPDATE idempotency_keys SET owner = $5, version = version + 1, attempts = attempts + 1,
     in_doubt = in_doubt OR (locked_until IS NOT NULL AND request_derived_key IS NOT NULL),
     locked_until = now() + make_interval(secs => $6), next_run_at = now() + make_interval(secs => $7)
   WHERE tenant_id = $1 AND key = $2 AND version = $4 AND ${IN_PROGRESS}
     AND (locked_until IS NULL OR locked_until <= now())
   RETURNING ${KEY_COLUMNS}`,
);

const RENEW = statement(
  'key_renew',
  `UPDATE idempotency_keys SET locked_until = now() + make_interval(secs => $5)
   WHERE tenant_id = $1 AND key IN (
     SELECT key FROM idempotency_keys
     WHERE tenant_id = $1 AND ${IN_PROGRESS}
       AND (key, owner, version) IN (SELECT * FROM unnest($2::text[], $3::uuid[], $4::int[]))
     FOR UPDATE SKIP LOCKED)
   RETURNING key`,
);
