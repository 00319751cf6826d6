import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { ChargeStatus } from './charge.js';

@ApiSchema({ name: 'NextAction' })
export class NextActionBody {
  type!: 'redirect_to_url';

  /** Where the customer authenticates the payment. */
  url!: string;
}

@ApiSchema({ name: 'Failure' })
export class FailureBody {
  code!: string;
  declineCode?: string;
  message!: string;
  param?: string;
}

@ApiSchema({ name: 'Charge' })
export class ChargeBody {
  id!: string;
  orderId!: string;

  /** Nothing is paid unless it says succeeded. */
  status!: ChargeStatus;

  /** In the provider's smallest unit of the currency. */
  @ApiProperty({ type: 'integer' })
  amount!: number;

  /** How much of it went back. */
  @ApiProperty({ type: 'integer' })
  amountRefunded!: number;

  currency!: string;

  /** What the customer has to do first, where it requires that. */
  nextAction!: NextActionBody | null;

  /** Why nothing was charged. */
  failure!: FailureBody | null;

  @ApiProperty({ format: 'date-time' })
  createdAt!: string;
}
