import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Problems } from '../http/problems.decorator.js';
import { invalid } from '../http/validation.example.js';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { Replies } from '../idempotency/replies.decorator.js';
import { EXAMPLE_ORDER } from '../orders/order.example.js';
import {
  orderAlreadyPaid,
  orderCanceled,
  orderNotFound,
  orderPaymentInProgress,
} from '../orders/order.problems.js';
import { CurrentTenant, type Tenant } from '../tenancy/tenant.js';
import { ChargeOrder, type ChargeOrderInput } from './charge-order.operation.js';
import { chargeBody } from './charge.js';
import { ChargeBody } from './charge-body.dto.js';
import { EXAMPLE_CHARGE, PAYMENT_PROBLEMS } from './charge.example.js';
import { chargeNotFound } from './charge.problems.js';
import { ChargesReader } from './charges.reader.js';
import { CreateChargeDto } from './create-charge.dto.js';

@ApiTags('charges')
@ApiBearerAuth()
@Controller('v1/charges')
export class ChargesController {
  constructor(private readonly charges: ChargesReader) {}

  /** Pays an order. */
  @Post()
  @Idempotent(ChargeOrder)
  @Replies(ChargeBody, chargeBody(EXAMPLE_CHARGE), { Location: 'The charge.' })
  @Problems(
    invalid('orderId', 'must be the id of an order'),
    orderNotFound(EXAMPLE_ORDER.id, 'orderId'),
    orderAlreadyPaid(EXAMPLE_ORDER.id),
    orderCanceled(EXAMPLE_ORDER.id),
    orderPaymentInProgress(EXAMPLE_ORDER.id),
    ...PAYMENT_PROBLEMS,
  )
  create(@Body() { orderId, paymentMethod }: CreateChargeDto): ChargeOrderInput {
    return { orderId, paymentMethod };
  }

  /** A charge as it is now. */
  @Get(':id')
  @ApiOkResponse({ type: ChargeBody, example: chargeBody(EXAMPLE_CHARGE) })
  @Problems(chargeNotFound(EXAMPLE_CHARGE.id))
  async read(@CurrentTenant() { id: tenantId }: Tenant, @Param('id') id: string): Promise<ChargeBody> {
    const charge = await this.charges.find(tenantId, id);
    if (!charge) throw chargeNotFound(id);
    return chargeBody(charge);
  }
}
