import { Module } from '@nestjs/common';
import { Operations } from '../idempotency/operations.js';
import { CreateOrder } from './create-order.operation.js';
import { OrdersController } from './orders.controller.js';
import { OrdersReader } from './orders.reader.js';

/** What every role needs of orders: an abandoned key may be finished by a worker. */
@Module({ providers: [CreateOrder, OrdersReader], exports: [CreateOrder, OrdersReader] })
export class OrdersModule {
  constructor(operations: Operations, { operation }: CreateOrder) {
    operations.register(operation);
  }
}

@Module({ imports: [OrdersModule], controllers: [OrdersController] })
export class OrdersRoutes {}
