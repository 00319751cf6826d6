import { Module } from '@nestjs/common';
import { OutboxModule } from '../outbox/outbox.module.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { Checkout } from './checkout.operation.js';
import { CheckoutsController } from './checkouts.controller.js';

@Module({
  imports: [PaymentsModule, OutboxModule],
  controllers: [CheckoutsController],
  providers: [Checkout],
})
export class CheckoutModule {}
