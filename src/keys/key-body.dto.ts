import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ChargeBody } from '../charges/charge-body.dto.js';
import { RefundBody } from '../refunds/refund-body.dto.js';

@ApiSchema({ name: 'IdempotencyKey' })
export class KeyBody {
  key!: string;
  operation!: string;

  /** in_progress: a retry waits or resumes; review: a person decides; finished: a retry gets the stored reply. */
  status!: 'in_progress' | 'review' | 'finished';

  /** How far it has come. */
  recoveryPoint!: string;

  /** How many owners it has had. */
  @ApiProperty({ type: 'integer' })
  attempts!: number;

  /** What the key charged, as it is now; null where it made no charge. */
  charge!: ChargeBody | null;

  /** What the key refunded, as it is now; null where it made no refund. */
  refund!: RefundBody | null;

  @ApiProperty({ type: 'integer' })
  replyStatus!: number | null;

  createdAt!: Date;

  completedAt!: Date | null;

  expiresAt!: Date | null;
}
