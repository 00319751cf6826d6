import { Injectable } from '@nestjs/common';
import { acrossTenants, statement } from '../database/statement.js';
import { Database, type Tx } from '../database/transaction.js';

export const DECISIONS = ['mark_succeeded', 'mark_failed', 'retry'] as const;

export type Decision = (typeof DECISIONS)[number];

/** What a person says to a review. */
export interface Verdict {
  readonly decision: Decision;
  /** What the other system calls the effect; names it where the decision is that it was made. */
  readonly providerId: string | null;
  /** Why, in their words. */
  readonly note: string | null;
  readonly decidedBy: string;
}

/** A review as a decision needs it. */
export interface Review {
  readonly tenantId: string;
  readonly id: string;
  readonly subjectKind: string;
  readonly subjectId: string;
  /** The text of the key that it is about, to find its row. */
  readonly key: string | null;
  readonly decidedAt: Date | null;
}

export interface DecidedReview extends Review, Verdict {
  readonly decidedAt: Date;
}

@Injectable()
export class ReviewStore {
  constructor(private readonly database: Database) {}

  /** Whose it is comes with it: an operator sees every tenant's. */
  async find(id: string): Promise<Review | DecidedReview | undefined> {
    const [review] = await this.database.query<Review | DecidedReview>(FIND, [id]);
    return review;
  }

  /** @returns undefined where somebody has decided already, and nothing is changed */
  async decide(tx: Tx, { tenantId, id }: Review, verdict: Verdict): Promise<DecidedReview | undefined> {
    const { decision, providerId, note, decidedBy } = verdict;
    const values = [tenantId, id, decision, providerId, note, decidedBy];
    const [decided] = await tx.query<DecidedReview>(DECIDE, values);
    return decided;
  }
}

const COLUMNS = `tenant_id AS "tenantId", id, subject_kind AS "subjectKind", subject_id AS "subjectId",
  idempotency_key AS key, decision, provider_id AS "providerId", note, decided_by AS "decidedBy",
  decided_at AS "decidedAt"`;

const FIND = acrossTenants(statement('review_find', `SELECT ${COLUMNS} FROM reviews WHERE id = $1`));

const DECIDE = statement(
  'review_decide',
  `UPDATE reviews SET decision = $3, provider_id = $4, note = $5, decided_by = $6, decided_at = now()
   WHERE tenant_id = $1 AND id = $2 AND decided_at IS NULL
   RETURNING ${COLUMNS}`,
);
