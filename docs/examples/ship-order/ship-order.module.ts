import { Body, Controller, Module, Param, Post, type DynamicModule } from '@nestjs/common';
import { Config } from '../../../src/config/config.js';
import { Idempotent } from '../../../src/idempotency/idempotent.decorator.js';
import { Operations } from '../../../src/idempotency/operations.js';
import { OutboxModule } from '../../../src/outbox/outbox.module.js';
import { IsPaymentMethod } from '../../../src/payments/payment-method.validator.js';
import { PaymentsModule } from '../../../src/payments/payments.module.js';
import { HttpWarehouse } from './http-warehouse.js';
import { ShipOrder, type ShipOrderInput } from './ship-order.operation.js';
import { Warehouse } from './warehouse.js';

class CreateShipmentDto {
  @IsPaymentMethod()
  paymentMethod!: string;
}

@Controller('v1/orders')
class ShipmentsController {
  @Post(':id/shipments')
  @Idempotent(ShipOrder)
  create(@Param('id') orderId: string, @Body() { paymentMethod }: CreateShipmentDto): ShipOrderInput {
    return { orderId, paymentMethod };
  }
}

@Module({
  imports: [PaymentsModule, OutboxModule],
  controllers: [ShipmentsController],
  providers: [ShipOrder],
})
export class ShipOrderModule {
  constructor(operations: Operations, { operation }: ShipOrder) {
    operations.register(operation);
  }

  /**
   * @param warehouse where it answers; in a service of your own, a setting. One request makes both calls, so each gets
   *   the time that the config allows for one, and `REQUEST_DEADLINE_SECONDS` must be above their sum.
   */
  static at(warehouse: string): DynamicModule {
    return {
      module: ShipOrderModule,
      providers: [
        {
          provide: Warehouse,
          inject: [Config],
          useFactory: ({ timings }: Config) =>
            new HttpWarehouse(new URL(warehouse), timings.providerTimeout * 1_000),
        },
      ],
    };
  }
}
