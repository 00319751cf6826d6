import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { CurrentTenant, type Tenant } from '../tenancy/tenant.js';
import { ChargeOrder, type ChargeOrderInput } from './charge-order.operation.js';
import { chargeBody } from './charge.js';
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
  create(@Body() { orderId, paymentMethod }: CreateChargeDto): ChargeOrderInput {
    return { orderId, paymentMethod };
  }

  @Get(':id')
  async read(
    @CurrentTenant() { id: tenantId }: Tenant,
    @Param('id') id: string,
  ): Promise<Record<string, unknown>> {
    const charge = await this.charges.find(tenantId, id);
    if (!charge) throw chargeNotFound(id);
    return chargeBody(charge);
  }
}
