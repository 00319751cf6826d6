import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { isLockTimeout, isRetryable, isStoreUnavailable } from '../database/errors.js';
import { CommitUnknown } from '../database/not-committed.js';
import { Database, type Tx } from '../database/transaction.js';
import type { Advance, Attempt, FrozenRequest } from './attempt.js';
import type { KeyRow } from './idempotency-key.row.js';
import { IdempotencyKeyStore } from './idempotency-key.store.js';
import { Reply } from './operation.js';
import { keyInUse } from './idempotency.problems.js';
import { KeyTaken, LeaseLost } from './ownership.js';

/** Writes the business rows of a stretch of phases, and says where it ended. */
export type Write = (tx: Tx) => Promise<Reply | Advance>;

/** Called when everything is written and nothing is committed; for fault points. */
export type BeforeCommit = (reached: string, tx: Tx) => Promise<void>;

/** Serialization failures and deadlocks: the second try nearly always goes through. */
const MAX_TRIES = 4;

/**
 * Commits local work: the claim where the key has no row yet, the business rows, and the recovery point or the
 * stored reply, in one transaction. The claim fails where the key is taken, and that last write, the fence, where it is
 * not ours any more; PostgreSQL does not carry out the COMMIT behind what failed. So all of it can be one flight.
 */
@Injectable()
export class LocalWork {
  constructor(
    private readonly database: Database,
    private readonly store: IdempotencyKeyStore,
  ) {}

  /**
   * Moves `attempt` on to where `write` ended. @returns the reply, where it ended with one
   * @throws KeyTaken, LeaseLost, or what `write` throws, after a rollback
   */
  async commit(attempt: Attempt, write: Write, beforeCommit: BeforeCommit): Promise<Reply | undefined> {
    let doubted = false;
    for (let tries = 1; ; tries++) {
      try {
        return await this.commitOnce(attempt, write, beforeCommit);
      } catch (error) {
        doubted ||= error instanceof CommitUnknown;
        const committed = doubted && mayBeOurs(error) ? await this.committedRow(attempt) : undefined;
        if (committed) return resumeFrom(attempt, committed);
        if (!mayTryAgain(error) || tries === MAX_TRIES) throw error;
        await sleep(Math.random() * 20 * 2 ** tries);
      }
    }
  }

  private async commitOnce(
    attempt: Attempt,
    write: Write,
    beforeCommit: BeforeCommit,
  ): Promise<Reply | undefined> {
    const leasedAt = performance.now();
    let claim: Promise<void> | undefined;
    try {
      const end = await this.database.transaction(async (tx) => {
        let written = undefined as Reply | Advance | undefined; // read by the claim, as it leaves
        claim = attempt.unclaimed && this.store.claim(tx, attempt, attempt.unclaimed, () => written);
        written = await write(tx);
        if (!claim || tx.departed) this.fence(tx, attempt, written); // or the claim says it all
        await beforeCommit(nameOf(written), tx);
        return written;
      });
      moveOn(attempt, end, leasedAt);
      return end instanceof Reply ? end : undefined;
    } catch (error) {
      await refuseWaiting(claim);
      throw error;
    }
  }

  private fence(tx: Tx, attempt: Attempt, end: Reply | Advance): void {
    if (end instanceof Reply) this.store.finish(tx, attempt, end);
    else this.store.advance(tx, attempt, end);
  }

  /**
   * After a COMMIT whose answer was lost: the row, if that COMMIT happened. A first commit that cannot be seen yet
   * may still be on its way; the claim is then made again, and a conflict that carries our own token says so (a wait
   * for it that takes too long is a 409: whoever comes next finds out).
   * @throws LeaseLost
   */
  private async committedRow(attempt: Attempt): Promise<KeyRow | undefined> {
    const { tenantId, key } = attempt.execution;
    const row = await this.patiently(() => this.store.findSettled(tenantId, key));
    if (row?.owner === attempt.owner) return row.version > attempt.version ? row : undefined;
    if (attempt.unclaimed) return undefined;
    throw new LeaseLost();
  }

  /** The connection was just lost; the next one may take a moment. */
  private async patiently<T>(read: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await read();
      } catch (error) {
        if (tries === MAX_TRIES || !isStoreUnavailable(error)) throw error;
        await sleep(50 * 2 ** tries);
      }
    }
  }
}

/** After a COMMIT whose answer was lost, a key that is taken, or has moved on, may be ours: it was carried out late. */
function mayBeOurs(error: unknown): boolean {
  return error instanceof CommitUnknown || error instanceof KeyTaken || error instanceof LeaseLost;
}

function mayTryAgain(error: unknown): boolean {
  return error instanceof CommitUnknown || isRetryable(error);
}

/** Another first phase with this key takes longer than anybody should wait: that is a request in progress. */
async function refuseWaiting(claim: Promise<void> | undefined): Promise<void> {
  await claim?.catch((error: unknown) => {
    if (isLockTimeout(error)) throw keyInUse(null);
  });
}

function moveOn(attempt: Attempt, end: Reply | Advance, leasedAt: number): void {
  attempt.unclaimed = undefined;
  attempt.version += 1;
  attempt.leasedAt = leasedAt;
  if (end instanceof Reply) return;
  attempt.recoveryPoint = end.recoveryPoint;
  attempt.state = end.state;
  attempt.request = end.request && frozen(end.request, attempt.request);
}

/** A call that goes on at another recovery point, under the same derived key, keeps its past. */
function frozen(request: NonNullable<Advance['request']>, before: FrozenRequest | undefined): FrozenRequest {
  const same = before?.derivedKey === request.derivedKey ? before : undefined;
  return { ...request, inDoubt: same?.inDoubt ?? false, windowOver: same?.windowOver ?? false };
}

function resumeFrom(attempt: Attempt, row: KeyRow): Reply | undefined {
  attempt.adopt(row);
  return storedReply(row);
}

/** @returns undefined while the key is not finished */
export function storedReply({ reply_status, reply_headers, reply_body }: KeyRow): Reply | undefined {
  return reply_status === null || reply_body === null
    ? undefined
    : new Reply(reply_status, reply_headers ?? {}, reply_body);
}

function nameOf(end: Reply | Advance): string {
  return end instanceof Reply ? 'finished' : end.recoveryPoint;
}
