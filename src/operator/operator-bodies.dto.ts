import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ChargeBody } from '../charges/charge-body.dto.js';
import type { Decision } from '../idempotency/review.store.js';

@ApiSchema({ name: 'ReviewSubject' })
export class ReviewSubjectBody {
  kind!: 'idempotency_key' | 'charge' | 'refund' | 'event';

  id!: string;
}

@ApiSchema({ name: 'ReviewedKey' })
export class ReviewedKeyBody {
  status!: string;
  recoveryPoint!: string | null;

  @ApiProperty({ type: 'integer' })
  attempts!: number | null;

  lastError!: string | null;

  createdAt!: Date | null;
}

/** What was decided, and by whom. Everything is null while the review is open. */
@ApiSchema({ name: 'Decision' })
export class DecisionBody {
  id!: string;

  decision!: Decision | null;

  providerId!: string | null;
  note!: string | null;
  decidedBy!: string | null;

  decidedAt!: Date | null;
}

@ApiSchema({ name: 'Review' })
export class ReviewBody extends DecisionBody {
  tenantId!: string;
  subject!: ReviewSubjectBody;
  reason!: string;

  @ApiProperty({ type: 'object', additionalProperties: true })
  evidence!: Readonly<Record<string, unknown>>;

  openedAt!: Date;

  key!: ReviewedKeyBody | null;

  charge!: ChargeBody | null;
}

@ApiSchema({ name: 'ReviewPage' })
export class ReviewPageBody {
  data!: ReviewBody[];

  nextCursor!: string | null;
}

@ApiSchema({ name: 'Message' })
export class MessageBody {
  id!: string;
  tenantId!: string;
  topic!: string;
  dedupeKey!: string;

  @ApiProperty({ type: 'integer' })
  attempts!: number;

  lastError!: string | null;

  createdAt!: Date;

  /** When it is due; null where it no longer is. */
  dueAt!: Date | null;

  sentAt!: Date | null;

  deadAt!: Date | null;
}

@ApiSchema({ name: 'MessagePage' })
export class MessagePageBody {
  data!: MessageBody[];

  nextCursor!: string | null;
}
