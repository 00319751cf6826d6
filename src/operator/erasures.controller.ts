import { Body, Controller, Header, HttpCode, Post, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { EraseDto } from '../erasure/erase.dto.js';
import { erasureBody } from '../erasure/erasure-body.js';
import { ErasureBody } from '../erasure/erasure-body.dto.js';
import { erasureBlocked, erasureOvertaken, tenantNotFound } from '../erasure/erasure.problems.js';
import { Erasures } from '../erasure/erasures.js';
import type { Subject } from '../erasure/subject.js';
import { Problems } from '../http/problems.decorator.js';
import { validationFailed } from '../http/problems.js';
import { Public } from '../http/public.decorator.js';
import { invalid } from '../http/validation.example.js';
import { sealedElsewhere } from '../idempotency/sealing.problems.js';
import { orderNotFound } from '../orders/order.problems.js';
import { CurrentOperator, type Operator } from './operator.js';
import { EXAMPLE_ERASURE, EXAMPLE_OBSTACLE, EXAMPLE_PREVIEW, OPERATORS_ONLY } from './operator.example.js';
import { OperatorGuard } from './operator.guard.js';

const REFUSALS = [
  invalid('tenantId', 'must be a string'),
  ...OPERATORS_ONLY,
  tenantNotFound('acne'),
  orderNotFound(EXAMPLE_ERASURE.orders[0]!.id),
  sealedElsewhere('2026-01'),
];

/** People who ask to be erased. Whom it is about is in the body, as addresses of requests are logged on their way. */
@ApiTags('operator')
@ApiBearerAuth('operator')
@Public() // no tenant's route: the guard below is its door
@UseGuards(OperatorGuard)
@Controller('v1/operator/erasures')
export class ErasuresController {
  constructor(private readonly erasures: Erasures) {}

  /** What would be erased, and what stands in the way. Changes nothing. */
  @Post('preview')
  @HttpCode(200)
  @Header('Cache-Control', 'no-store')
  @ApiOkResponse({ type: ErasureBody, example: EXAMPLE_PREVIEW })
  @Problems(...REFUSALS)
  async preview(@Body() body: EraseDto): Promise<ErasureBody> {
    return erasureBody(body.tenantId, await this.erasures.preview(subjectOf(body)));
  }

  /** Erases all of it or nothing, and says what. Naturally idempotent: what is erased is not there to be erased again. */
  @Post()
  @HttpCode(200)
  @Header('Cache-Control', 'no-store')
  @ApiOkResponse({ type: ErasureBody, example: EXAMPLE_ERASURE })
  @Problems(...REFUSALS, erasureBlocked([EXAMPLE_OBSTACLE]), erasureOvertaken())
  async erase(@CurrentOperator() { label }: Operator, @Body() body: EraseDto): Promise<ErasureBody> {
    return erasureBody(body.tenantId, await this.erasures.erase(subjectOf(body), label));
  }
}

/** @throws Problem 400, where both or none are named */
function subjectOf({ tenantId, email, orderId, also = [] }: EraseDto): Subject {
  if (orderId === undefined) return { tenantId, who: { email: email! }, also };
  if (email === undefined) return { tenantId, who: { orderId }, also };
  throw validationFailed([{ param: 'orderId', message: 'orderId must not be sent together with email' }]);
}
