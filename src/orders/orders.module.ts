import { Module } from '@nestjs/common';
import { CreateOrder } from './create-order.operation.js';
import { OrdersController } from './orders.controller.js';
import { OrdersReader } from './orders.reader.js';

@Module({ controllers: [OrdersController], providers: [CreateOrder, OrdersReader] })
export class OrdersModule {}
