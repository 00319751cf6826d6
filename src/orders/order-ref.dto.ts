import { Matches } from 'class-validator';
import { Length } from '../http/length.validator.js';

export class OrderRefDto {
  /**
   * The order's externalRef, percent-encoded.
   * @example "basket-1001"
   */
  @Length(1, 255)
  @Matches(/^[^\0]*$/, { message: 'ref must not contain the character NUL' })
  ref!: string;
}
