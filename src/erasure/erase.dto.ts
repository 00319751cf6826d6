import { IsArray, IsIn, IsOptional, IsString, Matches, ValidateIf } from 'class-validator';
import { Length } from '../http/length.validator.js';
import { IsMailAddress } from '../orders/mail-address.validator.js';
import { CLIENT_WORDS, type ClientWords } from './subject.js';

/** Exactly one of `email` and `orderId`. */
export class EraseDto {
  /** Whose customer it is. @example "acme" */
  @IsString()
  @Length(1, 63)
  tenantId!: string;

  /** All that is held of whoever has this address, whatever its case. @example "ada@example.com" */
  @ValidateIf(({ email, orderId }: EraseDto) => email !== undefined || orderId === undefined)
  @IsMailAddress()
  email?: string;

  /** The customer of one order. @example "ord_01kbn9sg7a3m5q8t2v6x0y4z1b" */
  @IsOptional()
  @Matches(/^ord_[0-9a-z]{26}$/, { message: 'orderId must be the id of an order, such as ord_…' })
  orderId?: string;

  /**
   * What else to overwrite, where the client wrote something personal there. `externalRef`: the order then no longer
   * refuses a second purchase of that name. `items`: their sku and description, which the books may need.
   */
  @IsOptional()
  @IsArray()
  @IsIn(CLIENT_WORDS, { each: true })
  also?: ClientWords[];
}
