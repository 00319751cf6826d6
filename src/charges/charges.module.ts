import { Module } from '@nestjs/common';
import { Operations } from '../idempotency/operations.js';
import { OutboxModule } from '../outbox/outbox.module.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { ChargeOrder } from './charge-order.operation.js';
import { ChargesController } from './charges.controller.js';
import { ChargesReader } from './charges.reader.js';

/** What every role needs of charges: an abandoned key may be finished by a worker. */
@Module({
  imports: [PaymentsModule, OutboxModule],
  providers: [ChargeOrder, ChargesReader],
  exports: [ChargeOrder, ChargesReader],
})
export class ChargesModule {
  constructor(operations: Operations, { operation }: ChargeOrder) {
    operations.register(operation);
  }
}

@Module({ imports: [ChargesModule], controllers: [ChargesController] })
export class ChargesRoutes {}
