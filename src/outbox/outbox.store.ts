import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { dueTenants, type TimedRows } from '../database/earliest.js';
import { planned } from '../database/statement.js';
import { Database } from '../database/transaction.js';
import type { StagedMessage } from './delivery.js';

/** Messages that one relay may deliver and mark until its lease ends, and the token that proves it. */
export interface Claim {
  readonly tenantId: string;
  readonly token: string;
  readonly messages: readonly StagedMessage[];
}

/** What became of a claimed message. */
export type Outcome =
  | { readonly kind: 'sent' }
  /** Tried and failed: due again after a while. */
  | { readonly kind: 'failed'; readonly error: string; readonly retryInSeconds: number }
  /** Given up: a person may requeue it. */
  | { readonly kind: 'dead'; readonly error: string }
  /** Not tried at all: due again at once, and the claim was no attempt. */
  | { readonly kind: 'released' };

export interface Mark {
  readonly id: string;
  readonly outcome: Outcome;
}

/** The relay's statements. Every time in them is the database's. */
@Injectable()
export class OutboxStore {
  constructor(private readonly database: Database) {}

  async tenantsWithDueMessages(): Promise<string[]> {
    const rows = await this.database.query<{ tenantId: string }>(DUE_TENANTS);
    return rows.map(({ tenantId }) => tenantId);
  }

  async claim(tenantId: string, limit: number, leaseSeconds: number): Promise<Claim> {
    const token = randomUUID();
    const rows = await this.database.transaction(async (tx) => {
      tx.send(BY_INDEX_ONLY);
      const claimed = await tx.query<ClaimedRow>(CLAIM, [tenantId, token, leaseSeconds, limit]);
      if (claimed.length < limit) tx.send(DEFER_WAITING, [tenantId]); // all that is still due waits for another
      return claimed;
    });
    return {
      tenantId,
      token,
      messages: rows.map((row) => ({ ...row, tenantId, sequence: Number(row.sequence) })),
    };
  }

  /** @returns the ids that were marked; the others are of messages that the claim no longer holds */
  async mark({ tenantId, token }: Claim, marks: readonly Mark[]): Promise<Set<string>> {
    const ids = marks.map(({ id }) => id);
    const outcomes = Object.fromEntries(marks.map(({ id, outcome }) => [id, outcome]));
    const marked = await this.database.query<{ id: string }>(MARK, [
      tenantId,
      token,
      ids,
      JSON.stringify(outcomes),
    ]);
    return new Set(marked.map(({ id }) => id));
  }
}

interface ClaimedRow extends Omit<StagedMessage, 'tenantId' | 'sequence'> {
  /** pg hands a bigint over as text. */
  readonly sequence: string;
}

/**
 * A queue changes faster than the statistics about it. By those of a minute ago, sorting all that is due can look
 * cheaper than walking outbox_messages_due in order, and costs seconds once there are a million messages.
 */
const BY_INDEX_ONLY = planned(
  `SELECT set_config(name, 'off', true)
     FROM unnest(ARRAY['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_hashjoin']) AS name`,
);

/** What is due, or will be. */
export const WAITING: TimedRows = { table: 'outbox_messages', at: 'due_at', where: 'due_at IS NOT NULL' };

const DUE_TENANTS = dueTenants(WAITING);

/**
 * A message is claimable when it is due and the first unsent one of its ordering key. That is asked by a scalar
 * subquery, not by NOT EXISTS, so that it is answered by one look-up in outbox_messages_unsent_in_order for each
 * message, never by a hash of everything unsent; outbox_messages_due could not serve, as due_at is not in it.
 * MATERIALIZED, so that no plan runs the LIMIT twice and locks more rows.
 */
const CLAIM = planned(
  `WITH due AS MATERIALIZED (
     SELECT id FROM outbox_messages AS message
      WHERE tenant_id = $1 AND due_at <= now()
        AND (ordering_key IS NULL OR sequence = (
          SELECT min(sequence) FROM outbox_messages AS unsent
           WHERE unsent.tenant_id = $1 AND unsent.ordering_key = message.ordering_key
             AND unsent.sent_at IS NULL AND unsent.dead_at IS NULL))
      ORDER BY due_at
      LIMIT $4
      FOR UPDATE SKIP LOCKED
   )
   UPDATE outbox_messages
      SET claim_token = $2, attempts = attempts + 1, due_at = now() + make_interval(secs => $3)
    WHERE tenant_id = $1 AND id IN (SELECT id FROM due)
   RETURNING id, dedupe_key AS "dedupeKey", topic, sequence, payload, created_at AS "createdAt", attempts`,
);

/**
 * What waits for a message that failed is due when that one is, not before: every claim would step over it again.
 * Nothing needs to bring it back, as that time comes whether the other is then sent, dead or failed once more.
 * So many at a time, so that no claim takes long for their sake.
 */
const DEFER_WAITING = planned(
  `WITH waiting AS MATERIALIZED (
     SELECT message.id, first.due_at
       FROM outbox_messages AS message, LATERAL (
         SELECT sequence, due_at, claim_token FROM outbox_messages AS unsent
          WHERE unsent.tenant_id = $1 AND unsent.ordering_key = message.ordering_key
            AND unsent.sent_at IS NULL AND unsent.dead_at IS NULL
          ORDER BY sequence LIMIT 1) AS first
      WHERE message.tenant_id = $1 AND message.due_at <= now()
        AND first.sequence < message.sequence AND first.claim_token IS NULL AND first.due_at > now()
      LIMIT 10000
      FOR UPDATE OF message SKIP LOCKED
   )
   UPDATE outbox_messages AS message SET due_at = waiting.due_at
     FROM waiting
    WHERE message.tenant_id = $1 AND message.id = waiting.id`,
);

/**
 * The outcomes come as one object, looked up for each message: a join would be planned by guesses at claim_token. Not
 * `CASE kind WHEN`, which Citus sends on in words that its servers refuse.
 */
const MARK = planned(
  `UPDATE outbox_messages AS message
      SET claim_token = NULL,
          (sent_at, dead_at, due_at, attempts, last_error) = (
            SELECT CASE WHEN kind = 'sent' THEN now() END,
                   CASE WHEN kind = 'dead' THEN now() END,
                   CASE WHEN kind = 'failed' THEN now() + make_interval(secs => "retryInSeconds") WHEN kind = 'released' THEN now() END,
                   CASE WHEN kind = 'released' THEN message.attempts - 1 ELSE message.attempts END,
                   CASE WHEN kind = 'released' THEN message.last_error ELSE error END
              FROM jsonb_to_record($4::jsonb -> message.id) AS outcome (kind text, error text, "retryInSeconds" float8))
    WHERE tenant_id = $1 AND id = ANY ($3) AND claim_token = $2
   RETURNING id`,
);
