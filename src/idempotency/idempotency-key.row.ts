import type { Fingerprint } from './fingerprint.js';

export type KeyStatus = 'in_progress' | 'review' | 'finished';

/** A row of `idempotency_keys` as it is read: times are already judged by the database's clock. */
export interface KeyRow {
  readonly id: string;
  readonly operation: string;
  readonly fingerprint_scheme: number;
  readonly fingerprint: Buffer;
  readonly member_hashes: Readonly<Record<string, string>>;
  readonly status: KeyStatus;
  readonly recovery_point: string;
  readonly state: unknown;
  readonly input: unknown;
  readonly request: unknown;
  readonly request_derived_key: string | null;
  /** An earlier try of the frozen request may have acted. */
  readonly in_doubt: boolean;
  /** The other system may have forgotten the derived key: nothing may be sent again. */
  readonly window_over: boolean;
  /** What a person decided that the frozen request came to. */
  readonly known_outcome: unknown;
  readonly owner: string;
  readonly version: number;
  readonly attempts: number;
  readonly request_id: string;
  readonly reply_status: number | null;
  readonly reply_headers: Readonly<Record<string, string>> | null;
  readonly reply_body: Buffer | null;
  /** Id of the key that its input, state, request and reply are sealed with; null: they are plain. */
  readonly sealed_with: string | null;
  readonly created_at: Date;
  readonly completed_at: Date | null;
  readonly expires_at: Date | null;
  /** Finished, and past its retention by the database's clock: see `hasExpired`. */
  readonly expired: boolean;
  /** Seconds until the lease ends; 0 or less, or null, when the key is free to take over. */
  readonly lease_remaining: number | null;
}

/**
 * What a statement selects or returns for a `KeyRow`; `$3` is for how many hours other systems remember derived keys. The
 * time is a subquery, as Citus lets no write return now().
 */
export const KEY_COLUMNS = `id, operation, fingerprint_scheme, fingerprint, member_hashes, status, recovery_point, state, input,
  request, request_derived_key, owner, version, attempts, request_id, reply_status, reply_headers, reply_body,
  sealed_with, created_at, completed_at, expires_at,
  in_doubt, known_outcome, coalesce(first_sent_at < (SELECT now() - make_interval(hours => $3)), false) AS window_over,
  coalesce(expires_at <= (SELECT now()), false) AS expired,
  extract(epoch FROM locked_until - (SELECT now()))::float8 AS lease_remaining`;

/** A key is tried at least every hour, however often it failed or was put off: outages end, and somebody's money waits. */
export const LONGEST_PAUSE_SECONDS = 3_600;

export function storedFingerprint(row: KeyRow): Fingerprint {
  return { scheme: row.fingerprint_scheme, hash: row.fingerprint, members: row.member_hashes };
}

/**
 * Counts as absent. By this process's clock too: should the database's jump ahead, as when a standby with a wrong one
 * takes over, a retry would otherwise be a new purchase.
 */
export function hasExpired({ expired, expires_at }: KeyRow): boolean {
  return expired && expires_at !== null && expires_at <= new Date();
}

export function isLive(row: KeyRow): boolean {
  return row.status === 'in_progress' && (row.lease_remaining ?? 0) > 0;
}
