import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { Database, statement } from '../database/transaction.js';
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
    const rows = await this.database.query<Omit<StagedMessage, 'tenantId'>>(CLAIM, [
      tenantId,
      token,
      leaseSeconds,
      limit,
    ]);
    return { tenantId, token, messages: rows.map((row) => ({ tenantId, ...row })) };
  }

  /** @returns the ids that were marked; the others are of messages that the claim no longer holds */
  async mark(claim: Claim, marks: readonly Mark[]): Promise<Set<string>> {
    const marked = await this.database.query<{ id: string }>(MARK, [
      claim.tenantId,
      claim.token,
      ...columnsOf(marks),
    ]);
    const failed = marks.filter(({ outcome }) => outcome.kind === 'failed').map(({ id }) => id);
    if (failed.length > 0) await this.database.query(DEFER_FOLLOWERS, [claim.tenantId, failed]);
    return new Set(marked.map(({ id }) => id));
  }
}

/** One array for each column of `mark` in the statement. */
function columnsOf(marks: readonly Mark[]): unknown[][] {
  const outcomes = marks.map(({ outcome }) => outcome);
  return [
    marks.map(({ id }) => id),
    outcomes.map(({ kind }) => kind),
    outcomes.map((outcome) => ('error' in outcome ? outcome.error : null)),
    outcomes.map((outcome) => (outcome.kind === 'failed' ? outcome.retryInSeconds : 0)),
  ];
}

/**
 * Hops from tenant to tenant along outbox_messages_due: as many index look-ups as there are tenants with unsent
 * messages, however many messages those have.
 */
const DUE_TENANTS = statement(
  'outbox_due_tenants',
  `WITH RECURSIVE earliest AS (
     (SELECT tenant_id, due_at FROM outbox_messages
       WHERE sent_at IS NULL AND dead_at IS NULL
       ORDER BY tenant_id, due_at LIMIT 1)
     UNION ALL
     SELECT following.tenant_id, following.due_at
       FROM earliest, LATERAL (
         SELECT tenant_id, due_at FROM outbox_messages
          WHERE sent_at IS NULL AND dead_at IS NULL AND tenant_id > earliest.tenant_id
          ORDER BY tenant_id, due_at LIMIT 1) AS following
   )
   SELECT tenant_id AS "tenantId" FROM earliest WHERE due_at <= now()`,
);

/**
 * A message is claimable when it is due and the first unsent one of its ordering key. That is asked by a scalar
 * subquery, not by NOT EXISTS, because the planner can only answer it with one index look-up for each message,
 * never with a hash of everything unsent. MATERIALIZED, so that no plan runs the LIMIT twice and locks more rows.
 */
const CLAIM = statement(
  'outbox_claim',
  `WITH due AS MATERIALIZED (
     SELECT tenant_id, id FROM outbox_messages AS message
      WHERE tenant_id = $1 AND sent_at IS NULL AND dead_at IS NULL AND due_at <= now()
        AND (ordering_key IS NULL OR sequence = (
          SELECT min(sequence) FROM outbox_messages AS unsent
           WHERE unsent.tenant_id = message.tenant_id AND unsent.ordering_key = message.ordering_key
             AND unsent.sent_at IS NULL AND unsent.dead_at IS NULL))
      ORDER BY due_at
      LIMIT $4
      FOR UPDATE SKIP LOCKED
   )
   UPDATE outbox_messages
      SET claim_token = $2, attempts = attempts + 1, due_at = now() + make_interval(secs => $3)
    WHERE (tenant_id, id) IN (SELECT tenant_id, id FROM due)
   RETURNING id, dedupe_key AS "dedupeKey", topic, payload, created_at AS "createdAt", attempts`,
);

const MARK = statement(
  'outbox_mark',
  `UPDATE outbox_messages AS message
      SET claim_token = NULL,
          sent_at = CASE mark.kind WHEN 'sent' THEN now() END,
          dead_at = CASE mark.kind WHEN 'dead' THEN now() END,
          due_at = now() + make_interval(secs => mark.retry_in),
          attempts = attempts - CASE mark.kind WHEN 'released' THEN 1 ELSE 0 END,
          last_error = CASE mark.kind WHEN 'released' THEN message.last_error ELSE mark.error END
     FROM unnest($3::text[], $4::text[], $5::text[], $6::float8[]) AS mark (id, kind, error, retry_in)
    WHERE message.tenant_id = $1 AND message.id = mark.id AND message.claim_token = $2
   RETURNING message.id`,
);

/**
 * What waits for a message that failed is due when that one is, not before: claims would only step over it.
 * Nothing needs to bring it back, as that time comes whether the message is then sent, dead or failed again.
 */
const DEFER_FOLLOWERS = statement(
  'outbox_defer_followers',
  `UPDATE outbox_messages AS follower
      SET due_at = failed.due_at
     FROM outbox_messages AS failed
    WHERE failed.tenant_id = $1 AND failed.id = ANY ($2)
      AND follower.tenant_id = failed.tenant_id AND follower.ordering_key = failed.ordering_key
      AND follower.sequence > failed.sequence AND follower.due_at < failed.due_at
      AND follower.sent_at IS NULL AND follower.dead_at IS NULL`,
);
