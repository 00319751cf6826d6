import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { AddressDto } from './create-order.dto.js';
import type { OrderStatus } from './order.js';

@ApiSchema({ name: 'OrderItem' })
export class OrderItemBody {
  sku!: string;
  description!: string | null;

  @ApiProperty({ type: 'integer' })
  quantity!: number;

  /** Price of one, in the provider's smallest unit of the currency. */
  @ApiProperty({ type: 'integer' })
  unitAmount!: number;
}

@ApiSchema({ name: 'Customer' })
export class CustomerBody {
  email!: string;
  name!: string | null;
}

@ApiSchema({ name: 'Order' })
export class OrderBody {
  id!: string;

  status!: OrderStatus;

  /** Sum of the items, in the provider's smallest unit of the currency. */
  @ApiProperty({ type: 'integer' })
  amount!: number;

  /** How much of it went back. */
  @ApiProperty({ type: 'integer' })
  amountRefunded!: number;

  currency!: string;

  items!: OrderItemBody[];

  customer!: CustomerBody;

  externalRef!: string | null;

  shippingAddress!: AddressDto | null;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' } })
  metadata!: Readonly<Record<string, string>>;

  @ApiProperty({ format: 'date-time' })
  createdAt!: string;
}

@ApiSchema({ name: 'OrderPage' })
export class OrderPageBody {
  data!: OrderBody[];

  /** Pass it as `cursor` to get what comes next; null on the last page. */
  nextCursor!: string | null;
}
