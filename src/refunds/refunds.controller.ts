import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { EXAMPLE_CHARGE } from '../charges/charge.example.js';
import { chargeNotFound } from '../charges/charge.problems.js';
import { Problems } from '../http/problems.decorator.js';
import { invalid } from '../http/validation.example.js';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { outcomeUnknown, providerUnavailable } from '../idempotency/idempotency.problems.js';
import { Replies } from '../idempotency/replies.decorator.js';
import { CurrentTenant, type Tenant } from '../tenancy/tenant.js';
import { CreateRefundDto } from './create-refund.dto.js';
import { REFUND_FAILED, refundBody } from './refund.js';
import { RefundBody } from './refund-body.dto.js';
import { EXAMPLE_REFUND } from './refund.example.js';
import { RefundCharge, type RefundChargeInput } from './refund-charge.operation.js';
import {
  chargeAlreadyRefunded,
  chargeInProgress,
  chargeNotRefundable,
  refundAmountTooLarge,
  refundNotFound,
  refundRejected,
} from './refund.problems.js';
import { RefundsReader } from './refunds.reader.js';

@ApiTags('refunds')
@ApiBearerAuth()
@Controller('v1')
export class RefundsController {
  constructor(private readonly refunds: RefundsReader) {}

  /** Gives money back: a part of a charge, or all that is left of it. */
  @Post('charges/:id/refunds')
  @Idempotent(RefundCharge)
  @Replies(RefundBody, refundBody(EXAMPLE_REFUND), { Location: 'The refund.' })
  @Problems(
    invalid('amount', 'must not be less than 1'),
    refundRejected(EXAMPLE_REFUND, { code: 'charge_disputed', message: 'The charge is disputed.' }),
    refundRejected(EXAMPLE_REFUND, REFUND_FAILED.failure),
    chargeNotFound(EXAMPLE_CHARGE.id),
    chargeInProgress(EXAMPLE_CHARGE.id),
    chargeNotRefundable({ ...EXAMPLE_CHARGE, status: 'declined' }),
    chargeAlreadyRefunded(EXAMPLE_CHARGE.id),
    refundAmountTooLarge(EXAMPLE_CHARGE, 850),
    outcomeUnknown(),
    providerUnavailable(),
  )
  create(@Param('id') chargeId: string, @Body() { amount, reason }: CreateRefundDto): RefundChargeInput {
    return { chargeId, ...(amount && { amount }), ...(reason && { reason }) };
  }

  /** A refund as it is now. */
  @Get('refunds/:id')
  @ApiOkResponse({ type: RefundBody, example: refundBody(EXAMPLE_REFUND) })
  @Problems(refundNotFound(EXAMPLE_REFUND.id))
  async read(@CurrentTenant() { id: tenantId }: Tenant, @Param('id') id: string): Promise<RefundBody> {
    const refund = await this.refunds.find(tenantId, id);
    if (!refund) throw refundNotFound(id);
    return refundBody(refund);
  }
}
