import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { CurrentTenant, type Tenant } from '../tenancy/tenant.js';
import { CreateRefundDto } from './create-refund.dto.js';
import { refundBody } from './refund.js';
import { RefundCharge, type RefundChargeInput } from './refund-charge.operation.js';
import { refundNotFound } from './refund.problems.js';
import { RefundsReader } from './refunds.reader.js';

@ApiTags('refunds')
@ApiBearerAuth()
@Controller('v1')
export class RefundsController {
  constructor(private readonly refunds: RefundsReader) {}

  /** Gives money back: a part of a charge, or all that is left of it. */
  @Post('charges/:id/refunds')
  @Idempotent(RefundCharge)
  create(@Param('id') chargeId: string, @Body() { amount, reason }: CreateRefundDto): RefundChargeInput {
    return { chargeId, ...(amount && { amount }), ...(reason && { reason }) };
  }

  @Get('refunds/:id')
  async read(
    @CurrentTenant() { id: tenantId }: Tenant,
    @Param('id') id: string,
  ): Promise<Record<string, unknown>> {
    const refund = await this.refunds.find(tenantId, id);
    if (!refund) throw refundNotFound(id);
    return refundBody(refund);
  }
}
