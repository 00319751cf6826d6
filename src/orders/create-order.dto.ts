import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsInt,
  IsISO8601,
  IsISO31661Alpha2,
  IsOptional,
  IsString,
  Max,
  Min,
} from 'class-validator';
import { Length } from '../http/length.validator.js';
import { AreNested, IsNested } from '../http/nested.validator.js';
import { IsCurrency, IsUnitAmount } from '../payments/currency.validators.js';
import { IsMailAddress } from './mail-address.validator.js';
import { IsMetadata } from './metadata.validator.js';

export class OrderItemDto {
  /**
   * Your name of the article.
   * @example "tea-250"
   */
  @IsString()
  @Length(1, 100)
  sku!: string;

  /**
   * What the receipt calls it.
   * @example "Green tea, 250 g"
   */
  @IsOptional()
  @IsString()
  @Length(1, 200)
  description?: string;

  /** @example 2 */
  @ApiProperty({ type: 'integer' })
  @Max(10_000)
  @Min(1)
  @IsInt()
  quantity!: number;

  /**
   * Price of one, in the provider's smallest unit of the currency.
   * @example 850
   */
  @ApiProperty({ type: 'integer' })
  @IsUnitAmount()
  unitAmount!: number;
}

export class CustomerDto {
  /**
   * Where the receipt goes.
   * @example "ada@example.com"
   */
  @IsMailAddress()
  email!: string;

  /** @example "Ada" */
  @IsOptional()
  @IsString()
  @Length(1, 200)
  name?: string;
}

@ApiSchema({ name: 'Address' })
export class AddressDto {
  /** @example "12 Analytical Row" */
  @IsString()
  @Length(1, 200)
  line1!: string;

  @IsOptional()
  @IsString()
  @Length(1, 200)
  line2?: string;

  /** @example "London" */
  @IsString()
  @Length(1, 100)
  city!: string;

  /** @example "N1 7AA" */
  @IsString()
  @Length(1, 20)
  postalCode!: string;

  /**
   * ISO 3166 alpha-2.
   * @example "GB"
   */
  @IsISO31661Alpha2()
  country!: string;
}

export class CreateOrderDto {
  /**
   * Three letters.
   * @example "eur"
   */
  @IsCurrency()
  currency!: string;

  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(100)
  @AreNested(() => OrderItemDto)
  items!: OrderItemDto[];

  @IsNested(() => CustomerDto)
  customer!: CustomerDto;

  /**
   * Your own name for the purchase; unique among your orders, also after every key has expired. Without it, a retry
   * after its key has expired is a new purchase.
   * @example "basket-1001"
   */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  externalRef?: string;

  @IsOptional()
  @IsNested(() => AddressDto)
  shippingAddress?: AddressDto;

  /**
   * Up to 20 short strings of your own.
   * @example { "campaign": "spring" }
   */
  @IsOptional()
  @IsMetadata()
  metadata?: Record<string, string>;

  /**
   * When the client sent this attempt. Changes on every retry, so it is not part of the fingerprint.
   * @example "2026-01-31T12:00:00Z"
   */
  @IsOptional()
  @IsISO8601()
  clientSentAt?: string;
}
