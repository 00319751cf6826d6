import { Module } from '@nestjs/common';
import { Operations } from '../idempotency/operations.js';
import { CancelOrder } from './cancel-order.js';
import { CreateOrder } from './create-order.operation.js';
import { OrderChangesController } from './order-changes.controller.js';
import { OrdersController } from './orders.controller.js';
import { OrdersReader } from './orders.reader.js';
import { PutOrder } from './put-order.js';
import { SetShippingAddress } from './set-shipping-address.js';

/** What every role needs of orders: an abandoned key may be finished by a worker. */
@Module({ providers: [CreateOrder, OrdersReader], exports: [CreateOrder, OrdersReader] })
export class OrdersModule {
  constructor(operations: Operations, { operation }: CreateOrder) {
    operations.register(operation);
  }
}

@Module({
  imports: [OrdersModule],
  controllers: [OrdersController, OrderChangesController],
  providers: [CancelOrder, PutOrder, SetShippingAddress],
})
export class OrdersRoutes {}
