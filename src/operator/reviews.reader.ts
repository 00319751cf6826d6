import { Injectable } from '@nestjs/common';
import type { Charge } from '../charges/charge.js';
import { ChargesReader } from '../charges/charges.reader.js';
import { Config } from '../config/config.js';
import { acrossTenants, statement } from '../database/statement.js';
import { Database } from '../database/transaction.js';
import { deriveKey } from '../idempotency/derived-key.js';
import type { Refund } from '../refunds/refund.js';
import { RefundsReader } from '../refunds/refunds.reader.js';
import type { ListReviewsDto } from './list-reviews.dto.js';
import type { ReviewBody } from './operator-bodies.dto.js';
import { reviewBody, type ReviewRow } from './review-body.js';

/** Reviews of every tenant, with what the rows know about each. */
@Injectable()
export class ReviewsReader {
  constructor(
    private readonly database: Database,
    private readonly charges: ChargesReader,
    private readonly refunds: RefundsReader,
    private readonly config: Config,
  ) {}

  /** The newest first. */
  async list({ limit = 20, cursor, status }: ListReviewsDto) {
    const rows = await this.database.query<ReviewRow>(LIST, [
      cursor ?? null,
      status === undefined ? null : status === 'open',
      limit + 1, // one more tells whether there is a next page
    ]);
    const page = rows.slice(0, limit);
    const data = await Promise.all(page.map((row) => this.bodyOf(row)));
    return { data, nextCursor: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
  }

  private async bodyOf(row: ReviewRow): Promise<ReviewBody> {
    return reviewBody(row, await this.chargeOf(row));
  }

  private async chargeOf({ tenantId, subjectKind, subjectId }: ReviewRow): Promise<Charge | undefined> {
    switch (subjectKind) {
      case 'idempotency_key':
        return (await this.chargedBy(tenantId, subjectId)) ?? this.refundedBy(tenantId, subjectId);
      case 'charge':
        return this.charges.find(tenantId, subjectId);
      case 'refund':
        return this.refunded(tenantId, await this.refunds.find(tenantId, subjectId));
      default:
        return undefined;
    }
  }

  private chargedBy(tenantId: string, keyId: string): Promise<Charge | undefined> {
    return this.charges.findByDerivedKey(tenantId, deriveKey(this.config, keyId, 'charge'));
  }

  private async refundedBy(tenantId: string, keyId: string): Promise<Charge | undefined> {
    const derivedKey = deriveKey(this.config, keyId, 'refund');
    return this.refunded(tenantId, await this.refunds.findByDerivedKey(tenantId, derivedKey));
  }

  private async refunded(tenantId: string, refund: Refund | undefined): Promise<Charge | undefined> {
    return refund && this.charges.find(tenantId, refund.chargeId);
  }
}

/** A key that has expired and come back is another one, with another id. */
const LIST = acrossTenants(
  statement(
    'reviews_list',
    `SELECT review.tenant_id AS "tenantId", review.id, review.subject_kind AS "subjectKind",
     review.subject_id AS "subjectId", review.reason, review.evidence, review.opened_at AS "openedAt",
     review.decision, review.provider_id AS "providerId", review.note, review.decided_by AS "decidedBy",
     review.decided_at AS "decidedAt", key.status AS "keyStatus", key.recovery_point AS "recoveryPoint",
     key.attempts, key.last_error AS "lastError", key.request_id AS "requestId", key.created_at AS "keyCreatedAt",
     key.first_sent_at AS "firstSentAt", key.completed_at AS "completedAt", key.reply_status AS "replyStatus"
   FROM reviews AS review
   LEFT JOIN idempotency_keys AS key
     ON key.tenant_id = review.tenant_id AND key.key = review.idempotency_key AND key.id = review.subject_id
   WHERE ($1::text IS NULL OR review.id < $1) AND ($2::boolean IS NULL OR (review.decided_at IS NULL) = $2)
   ORDER BY review.id DESC LIMIT $3`,
  ),
);
