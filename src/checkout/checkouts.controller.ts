import { Body, Controller, Post } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { chargeBody } from '../charges/charge.js';
import { EXAMPLE_CHARGE, PAYMENT_PROBLEMS } from '../charges/charge.example.js';
import { Problems } from '../http/problems.decorator.js';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { Replies } from '../idempotency/replies.decorator.js';
import { orderBody } from '../orders/order.js';
import { EXAMPLE_ORDER, INVALID_ORDER } from '../orders/order.example.js';
import { externalRefTaken } from '../orders/order.problems.js';
import { toOrderInput } from '../orders/order-input.js';
import { CheckoutBody } from './checkout-body.dto.js';
import { Checkout, type CheckoutInput } from './checkout.operation.js';
import { CreateCheckoutDto } from './create-checkout.dto.js';
import { checkoutVoided } from './void-checkout.js';

const EXAMPLE: CheckoutBody = {
  order: orderBody({ ...EXAMPLE_ORDER, status: 'paid' }),
  charge: chargeBody(EXAMPLE_CHARGE),
};

@ApiTags('checkouts')
@ApiBearerAuth()
@Controller('v1/checkouts')
export class CheckoutsController {
  /** Order, charge, ledger and receipt, in one request that may be retried as often as it takes. */
  @Post()
  @Idempotent(Checkout, { notFingerprinted: ['/clientSentAt'] })
  @Replies(CheckoutBody, EXAMPLE, { Location: 'The order.' })
  @Problems(
    INVALID_ORDER,
    externalRefTaken(EXAMPLE_ORDER),
    checkoutVoided(EXAMPLE_CHARGE),
    ...PAYMENT_PROBLEMS,
  )
  create(@Body() body: CreateCheckoutDto): CheckoutInput {
    return { ...toOrderInput(body), paymentMethod: body.paymentMethod };
  }
}
