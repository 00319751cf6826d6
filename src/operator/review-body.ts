import { chargeBody, type Charge } from '../charges/charge.js';
import type { ReviewBody, ReviewedKeyBody, ReviewSubjectBody } from './operator-bodies.dto.js';

/** A review with the row of its key, where it is about one that is still there. */
export interface ReviewRow {
  readonly tenantId: string;
  readonly id: string;
  readonly subjectKind: ReviewSubjectBody['kind'];
  readonly subjectId: string;
  readonly reason: string;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly openedAt: Date;
  readonly decision: ReviewBody['decision'];
  readonly providerId: string | null;
  readonly note: string | null;
  readonly decidedBy: string | null;
  readonly decidedAt: Date | null;
  readonly keyStatus: string | null;
  readonly recoveryPoint: string | null;
  readonly attempts: number | null;
  readonly lastError: string | null;
  readonly requestId: string | null;
  readonly keyCreatedAt: Date | null;
  readonly firstSentAt: Date | null;
  readonly completedAt: Date | null;
  readonly replyStatus: number | null;
}

/** A review as operators see it: the id of a key's row, never its text, and nothing of the customer. */
export function reviewBody(row: ReviewRow, charge: Charge | undefined): ReviewBody {
  return {
    id: row.id,
    tenantId: row.tenantId,
    subject: { kind: row.subjectKind, id: row.subjectId },
    reason: row.reason,
    evidence: {
      ...row.evidence,
      providerId: row.evidence['providerId'] ?? charge?.providerId ?? null,
      timeline: timeline(row, charge),
    },
    openedAt: row.openedAt,
    decision: row.decision,
    providerId: row.providerId,
    note: row.note,
    decidedBy: row.decidedBy,
    decidedAt: row.decidedAt,
    key: row.keyStatus === null ? null : keyOf(row),
    charge: charge ? chargeBody(charge) : null,
  };
}

function keyOf(row: ReviewRow): ReviewedKeyBody {
  return {
    status: row.keyStatus!,
    recoveryPoint: row.recoveryPoint,
    attempts: row.attempts,
    lastError: row.lastError,
    createdAt: row.keyCreatedAt,
  };
}

interface Moment {
  readonly at: Date;
  readonly what: string;
}

/** What the rows know of what happened, in the order in which it did. */
function timeline(row: ReviewRow, charge: Charge | undefined): Moment[] {
  const moments: [at: Date | string | null | undefined, what: string][] = [
    [row.keyCreatedAt, `key claimed by request ${row.requestId}`],
    [charge?.createdAt, `charge ${charge?.id} intended`],
    [row.firstSentAt, 'request frozen; sent from here on'],
    [row.openedAt, `review opened: ${row.reason}`],
    [row.decidedAt, `decided by ${row.decidedBy}: ${row.decision}`],
    [row.completedAt, `key finished with ${row.replyStatus}`],
  ];
  return moments
    .flatMap(([at, what]) => (at ? [{ at: new Date(at), what }] : []))
    .sort((one, other) => one.at.getTime() - other.at.getTime());
}
