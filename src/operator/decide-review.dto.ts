import { IsIn, IsOptional, Matches, ValidateIf } from 'class-validator';
import { MaxLength } from '../http/length.validator.js';
import { DECISIONS, type Decision } from '../idempotency/review.store.js';

export class DecideReviewDto {
  /**
   * `mark_succeeded`: the payment `providerId` is the one; the provider is asked whether that is so.
   * `mark_failed`: nothing was charged; the key ends in 402 and the order can be paid again.
   * `retry`: try again, or past the provider's memory of keys look again.
   */
  @IsIn(DECISIONS)
  decision!: Decision;

  /**
   * What the provider calls the payment. Required for `mark_succeeded`.
   * @example "pi_3MtwBwLkdIwHu7ix28a3tqPa"
   */
  @ValidateIf(
    ({ decision, providerId }: DecideReviewDto) => decision === 'mark_succeeded' || providerId !== undefined,
  )
  @Matches(/^\w{1,255}$/, { message: 'providerId must be the id of a payment at the provider, such as pi_…' })
  providerId?: string;

  /** Why, for whoever reads it later. No personal data. */
  @IsOptional()
  @MaxLength(1000)
  note?: string;
}
