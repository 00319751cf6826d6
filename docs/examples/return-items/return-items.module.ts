import { Body, Controller, Module, Param, Post } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { EXAMPLE_ORDER } from '../../../src/orders/order.example.js';
import { Problems } from '../../../src/http/problems.decorator.js';
import { invalid } from '../../../src/http/validation.example.js';
import { Idempotent } from '../../../src/idempotency/idempotent.decorator.js';
import { outcomeUnknown, providerUnavailable } from '../../../src/idempotency/idempotency.problems.js';
import { Operations } from '../../../src/idempotency/operations.js';
import { Replies } from '../../../src/idempotency/replies.decorator.js';
import { OutboxModule } from '../../../src/outbox/outbox.module.js';
import { PaymentsModule } from '../../../src/payments/payments.module.js';
import { refundBody, REFUND_FAILED } from '../../../src/refunds/refund.js';
import { RefundBody } from '../../../src/refunds/refund-body.dto.js';
import { EXAMPLE_REFUND } from '../../../src/refunds/refund.example.js';
import { refundRejected } from '../../../src/refunds/refund.problems.js';
import { CreateReturnDto } from './create-return.dto.js';
import { ReturnItems, type ReturnItemsInput } from './return-items.operation.js';
import { itemsNotReturnable, orderNotPaid } from './return-items.problems.js';

const EXAMPLE: ReturnItemsInput = { orderId: EXAMPLE_ORDER.id, line: 0, quantity: 2 };

@ApiTags('refunds')
@ApiBearerAuth()
@Controller('v1/orders')
class ReturnsController {
  /** Takes items of an order back, and refunds what they cost. */
  @Post(':id/returns')
  @Idempotent(ReturnItems)
  @Replies(RefundBody, refundBody(EXAMPLE_REFUND), { Location: 'The refund.' })
  @Problems(
    invalid('quantity', 'must not be less than 1'),
    orderNotPaid(EXAMPLE.orderId),
    itemsNotReturnable(EXAMPLE, 1),
    refundRejected(EXAMPLE_REFUND, REFUND_FAILED.failure),
    outcomeUnknown(),
    providerUnavailable(),
  )
  create(@Param('id') orderId: string, @Body() { line, quantity }: CreateReturnDto): ReturnItemsInput {
    return { orderId, line, quantity };
  }
}

/** What every role needs: an abandoned key may be finished by a worker. */
@Module({ imports: [PaymentsModule, OutboxModule], providers: [ReturnItems], exports: [ReturnItems] })
export class ReturnsModule {
  constructor(operations: Operations, { operation }: ReturnItems) {
    operations.register(operation);
  }
}

@Module({ imports: [ReturnsModule], controllers: [ReturnsController] })
export class ReturnsRoutes {}
