import { Module } from '@nestjs/common';
import { Operations } from '../idempotency/operations.js';
import { OutboxModule } from '../outbox/outbox.module.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { Checkout } from './checkout.operation.js';
import { CheckoutsController } from './checkouts.controller.js';

/** What every role needs of the checkout: an abandoned key may be finished by a worker. */
@Module({ imports: [PaymentsModule, OutboxModule], providers: [Checkout], exports: [Checkout] })
export class CheckoutModule {
  constructor(operations: Operations, { operation }: Checkout) {
    operations.register(operation);
  }
}

@Module({ imports: [CheckoutModule], controllers: [CheckoutsController] })
export class CheckoutRoutes {}
