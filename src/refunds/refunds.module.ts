import { Module } from '@nestjs/common';
import { Operations } from '../idempotency/operations.js';
import { OutboxModule } from '../outbox/outbox.module.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { RefundCharge } from './refund-charge.operation.js';
import { RefundsController } from './refunds.controller.js';
import { RefundsReader } from './refunds.reader.js';

/** What every role needs of refunds: an abandoned key may be finished by a worker. */
@Module({
  imports: [PaymentsModule, OutboxModule],
  providers: [RefundCharge, RefundsReader],
  exports: [RefundCharge, RefundsReader],
})
export class RefundsModule {
  constructor(operations: Operations, { operation }: RefundCharge) {
    operations.register(operation);
  }
}

@Module({ imports: [RefundsModule], controllers: [RefundsController] })
export class RefundsRoutes {}
