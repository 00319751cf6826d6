import { ApiSchema } from '@nestjs/swagger';
import { ChargeBody } from '../charges/charge-body.dto.js';
import { OrderBody } from '../orders/order-body.dto.js';

@ApiSchema({ name: 'Checkout' })
export class CheckoutBody {
  order!: OrderBody;
  charge!: ChargeBody;
}
