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
  readonly owner: string;
  readonly version: number;
  readonly attempts: number;
  readonly request_id: string;
  readonly reply_status: number | null;
  readonly reply_headers: Readonly<Record<string, string>> | null;
  readonly reply_body: Buffer | null;
  readonly created_at: Date;
  readonly completed_at: Date | null;
  readonly expires_at: Date | null;
  /** Finished, and past its retention: counts as absent. */
  readonly expired: boolean;
  /** Seconds until the lease ends; 0 or less, or null, when the key is free to take over. */
  readonly lease_remaining: number | null;
}

export function storedFingerprint(row: KeyRow): Fingerprint {
  return { scheme: row.fingerprint_scheme, hash: row.fingerprint, members: row.member_hashes };
}

export function isLive(row: KeyRow): boolean {
  return row.status === 'in_progress' && (row.lease_remaining ?? 0) > 0;
}
