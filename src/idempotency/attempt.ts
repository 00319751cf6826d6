import type { Outcome } from './course.js';
import type { KeyRow } from './idempotency-key.row.js';
import type { Fingerprint } from './fingerprint.js';

/** What identifies an execution of a key, from its first attempt to its last. */
export interface Execution {
  readonly tenantId: string;
  readonly key: string;
  /** Durable: derived keys are made from it. */
  readonly id: string;
  readonly operation: string;
  readonly input: unknown;
  /** Request-Id of the request that first brought the key. */
  readonly requestId: string;
}

/** What the first commit writes besides, so that later requests with the key can be compared. */
export interface Claim {
  readonly fingerprint: Fingerprint;
  /** Whether the key's row has been read before. */
  readonly looked: boolean;
}

/** What an attempt leaves behind at a recovery point. */
export interface Advance {
  readonly recoveryPoint: string;
  readonly state: unknown;
  readonly request:
    { readonly body: unknown; readonly step: string; readonly derivedKey: string } | undefined;
}

/** A step's call to another system, as it was frozen before its first send. */
export interface FrozenRequest {
  readonly body: unknown;
  readonly derivedKey: string;
  /** An earlier try of this request may have acted: that a later one did not proves nothing. */
  readonly inDoubt: boolean;
  /** The other system may have forgotten the derived key: it must not be sent again. */
  readonly windowOver: boolean;
  /** What a person decided that it came to: recorded in place of the call, by whichever owner comes next. */
  readonly known?: Outcome;
}

/**
 * One try at running a key: the owner token and the version that fence its writes, and how far the key has come.
 * Holds only what is committed; the runner moves it on after each COMMIT.
 */
export class Attempt {
  recoveryPoint = 'started';
  state: unknown = undefined;
  request: FrozenRequest | undefined;
  /** What the row was sealed with when it was read, null where it was plain; undefined: it is this process that wrote it. */
  sealedWith: string | null | undefined;
  /** By this process's monotonic clock. */
  readonly startedAt = performance.now();
  /** The same clock, from before the lease was last asked for: it can only have begun later. */
  leasedAt: number = this.startedAt;

  private constructor(
    readonly execution: Execution,
    readonly owner: string,
    public version: number,
    /** Until the first commit there is no row: a failure leaves no trace. */
    public unclaimed: Claim | undefined,
  ) {}

  /** @param previousVersion that of the expired row which the claim replaces, or 0 */
  static first(execution: Execution, owner: string, claim: Claim, previousVersion: number): Attempt {
    return new Attempt(execution, owner, previousVersion + 1, claim);
  }

  /** After a takeover: `row` is as the takeover left it. */
  static resumed(tenantId: string, key: string, row: KeyRow, leasedAt: number): Attempt {
    const { id, operation, input, request_id: requestId } = row;
    const attempt = new Attempt(
      { tenantId, key, id, operation, input, requestId },
      row.owner,
      row.version,
      undefined,
    );
    attempt.adopt(row);
    attempt.leasedAt = leasedAt;
    return attempt;
  }

  /** Continues from what the row says: after a takeover, or after a COMMIT whose answer was lost. */
  adopt(row: KeyRow): void {
    this.unclaimed = undefined;
    this.version = row.version;
    this.recoveryPoint = row.recovery_point;
    this.state = row.state;
    this.sealedWith = row.sealed_with;
    this.request =
      row.request_derived_key === null
        ? undefined
        : {
            body: row.request,
            derivedKey: row.request_derived_key,
            inDoubt: row.in_doubt,
            windowOver: row.window_over,
            ...(row.known_outcome !== null && { known: row.known_outcome as Outcome }),
          };
  }
}
