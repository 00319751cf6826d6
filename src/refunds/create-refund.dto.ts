import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, Max, Min, ValidateIf } from 'class-validator';
import { MAX_AMOUNT } from '../payments/currency.js';
import { REFUND_REASONS, type RefundReason } from './refund.js';

/** `null` is not left out: it is what JSON makes of a NaN, and must not come to mean all that is left. */
const IsGiven = () => ValidateIf((_body, value) => value !== undefined);

export class CreateRefundDto {
  /**
   * How much goes back, in the provider's smallest unit of the currency. Left out, it is all that is left.
   * @example 850
   */
  @IsGiven()
  @Max(MAX_AMOUNT)
  @Min(1)
  @IsInt()
  amount?: number;

  /** @example "requested_by_customer" */
  @ApiPropertyOptional({ enum: REFUND_REASONS })
  @IsGiven()
  @IsIn(REFUND_REASONS)
  reason?: RefundReason;
}
