import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { MAX_AMOUNT } from '../payments/currency.js';
import { REFUND_REASONS, type RefundReason } from './refund.js';

export class CreateRefundDto {
  /**
   * How much goes back, in the provider's smallest unit of the currency. Left out, it is all that is left.
   * @example 850
   */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_AMOUNT)
  amount?: number;

  /** @example "requested_by_customer" */
  @ApiPropertyOptional({ enum: REFUND_REASONS })
  @IsOptional()
  @IsIn(REFUND_REASONS)
  reason?: RefundReason;
}
