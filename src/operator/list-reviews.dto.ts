import { IsIn, IsOptional } from 'class-validator';
import { PageQueryDto } from './page-query.dto.js';

export class ListReviewsDto extends PageQueryDto {
  /** Left out: both. */
  @IsOptional()
  @IsIn(['open', 'decided'])
  status?: 'open' | 'decided';
}
