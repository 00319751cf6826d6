import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { WholeNumber } from '../http/whole-number.js';
import type { OrderStatus } from './order.js';

export class ListOrdersDto {
  /** How many orders a page has. */
  @IsOptional()
  @WholeNumber()
  @ApiProperty({ type: 'integer' })
  @Max(100)
  @Min(1)
  @IsInt()
  limit?: number = 20;

  /** `nextCursor` of the page before. */
  @IsOptional()
  @Matches(/^ord_[0-9a-z]{26}$/, { message: 'cursor must be a nextCursor of this list' })
  cursor?: string;

  @IsOptional()
  @IsIn(['pending', 'paid', 'canceled'])
  status?: OrderStatus;
}
