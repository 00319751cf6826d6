import { Body, Controller, Post } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { toOrderInput } from '../orders/order-input.js';
import { Checkout, type CheckoutInput } from './checkout.operation.js';
import { CreateCheckoutDto } from './create-checkout.dto.js';

@ApiTags('checkouts')
@ApiBearerAuth()
@Controller('v1/checkouts')
export class CheckoutsController {
  /** Order, charge, ledger and receipt, in one request that may be retried as often as it takes. */
  @Post()
  @Idempotent(Checkout, { notFingerprinted: ['/clientSentAt'] })
  create(@Body() body: CreateCheckoutDto): CheckoutInput {
    return { ...toOrderInput(body), paymentMethod: body.paymentMethod };
  }
}
