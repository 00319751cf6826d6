import { IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { WholeNumber } from '../http/whole-number.js';

/** One page of a list, the newest first. */
export class PageQueryDto {
  /** How many entries a page has. */
  @IsOptional()
  @WholeNumber()
  @Max(100)
  @Min(1)
  @IsInt()
  limit?: number = 20;

  /** `nextCursor` of the page before. */
  @IsOptional()
  @Matches(/^(rev|msg)_[0-9a-z]{26}$/, { message: 'cursor must be a nextCursor of this list' })
  cursor?: string;
}
