import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { Database, statement, type Statement } from '../database/transaction.js';
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
    outcomes.map(dueIn),
  ];
}

/** In seconds from now; null for what is settled. */
function dueIn(outcome: Outcome): number | null {
  switch (outcome.kind) {
    case 'failed':
      return outcome.retryInSeconds;
    case 'released':
      return 0;
    case 'sent':
    case 'dead':
      return null;
  }
}

/**
 * The relay's statements have no name, so that each is planned for the queue as it is now. The plan that a prepared
 * statement keeps may date from when the queue was empty, and read all of it for every message.
 */
const planned = (text: string): Statement => statement('', text);

/**
 * Hops from tenant to tenant along outbox_messages_due: as many index look-ups as there are tenants with unsent
 * messages, however many messages those have.
 */
const DUE_TENANTS = planned(
  `WITH RECURSIVE earliest AS (
     (SELECT tenant_id, due_at FROM outbox_messages
       WHERE due_at IS NOT NULL
       ORDER BY tenant_id, due_at LIMIT 1)
     UNION ALL
     SELECT following.tenant_id, following.due_at
       FROM earliest, LATERAL (
         SELECT tenant_id, due_at FROM outbox_messages
          WHERE due_at IS NOT NULL AND tenant_id > earliest.tenant_id
          ORDER BY tenant_id, due_at LIMIT 1) AS following
   )
   SELECT tenant_id AS "tenantId" FROM earliest WHERE due_at <= now()`,
);

/**
 * A message is claimable when it is due and the first unsent one of its ordering key. That is asked by a scalar
 * subquery, not by NOT EXISTS, so that it is answered by one look-up in outbox_messages_unsent_in_order for each
 * message, never by a hash of everything unsent; outbox_messages_due could not serve, as due_at is not in it.
 * MATERIALIZED, so that no plan runs the LIMIT twice and locks more rows.
 */
const CLAIM = planned(
  `WITH due AS MATERIALIZED (
     SELECT tenant_id, id FROM outbox_messages AS message
      WHERE tenant_id = $1 AND due_at <= now()
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

const MARK = planned(
  `UPDATE outbox_messages AS message
      SET claim_token = NULL,
          sent_at = CASE mark.kind WHEN 'sent' THEN now() END,
          dead_at = CASE mark.kind WHEN 'dead' THEN now() END,
          due_at = now() + make_interval(secs => mark.due_in),
          attempts = attempts - CASE mark.kind WHEN 'released' THEN 1 ELSE 0 END,
          last_error = CASE mark.kind WHEN 'released' THEN message.last_error ELSE mark.error END
     FROM unnest($3::text[], $4::text[], $5::text[], $6::float8[]) AS mark (id, kind, error, due_in)
    WHERE message.tenant_id = $1 AND message.id = mark.id AND message.claim_token = $2
   RETURNING message.id`,
);

/**
 * What waits for a message that failed is due when that one is, not before: claims would only step over it.
 * Nothing needs to bring it back, as that time comes whether the message is then sent, dead or failed again.
 */
const DEFER_FOLLOWERS = planned(
  `UPDATE outbox_messages AS follower
      SET due_at = failed.due_at
     FROM outbox_messages AS failed
    WHERE failed.tenant_id = $1 AND failed.id = ANY ($2)
      AND follower.tenant_id = failed.tenant_id AND follower.ordering_key = failed.ordering_key
      AND follower.sequence > failed.sequence AND follower.due_at < failed.due_at
      AND follower.sent_at IS NULL AND follower.dead_at IS NULL`,
);
