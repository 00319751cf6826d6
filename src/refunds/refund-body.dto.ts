import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { RefundReason, RefundStatus } from './refund.js';

@ApiSchema({ name: 'Refund' })
export class RefundBody {
  id!: string;
  chargeId!: string;

  status!: RefundStatus;

  /** In the provider's smallest unit of the currency. */
  @ApiProperty({ type: 'integer' })
  amount!: number;

  currency!: string;

  reason!: RefundReason | null;

  @ApiProperty({ format: 'date-time' })
  createdAt!: string;
}
