import { Module } from '@nestjs/common';
import { OutboxModule } from '../outbox/outbox.module.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { ChargeOrder } from './charge-order.operation.js';
import { ChargesController } from './charges.controller.js';
import { ChargesReader } from './charges.reader.js';
import { IdempotencyKeysController } from './idempotency-keys.controller.js';

@Module({
  imports: [PaymentsModule, OutboxModule],
  controllers: [ChargesController, IdempotencyKeysController],
  providers: [ChargeOrder, ChargesReader],
})
export class ChargesModule {}
