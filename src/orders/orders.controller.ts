import { Body, Controller, Get, Header, Param, Post, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { CurrentTenant, type Tenant } from '../tenancy/tenant.js';
import { CreateOrder } from './create-order.operation.js';
import { CreateOrderDto } from './create-order.dto.js';
import { ListOrdersDto } from './list-orders.dto.js';
import { orderBody, orderHeaders, type OrderInput } from './order.js';
import { toOrderInput } from './order-input.js';
import { orderNotFound } from './order.problems.js';
import { OrdersReader } from './orders.reader.js';

@ApiTags('orders')
@ApiBearerAuth()
@Controller('v1/orders')
export class OrdersController {
  constructor(private readonly orders: OrdersReader) {}

  /** Creates an order that is to be paid later. */
  @Post()
  @Idempotent(CreateOrder, { notFingerprinted: ['/clientSentAt'] })
  create(@Body() body: CreateOrderDto): OrderInput {
    return toOrderInput(body);
  }

  @Get(':id')
  async read(
    @CurrentTenant() { id: tenantId }: Tenant,
    @Param('id') id: string,
    @Res({ passthrough: true }) response: FastifyReply,
  ): Promise<Record<string, unknown>> {
    const order = await this.orders.find(tenantId, id);
    if (!order) throw orderNotFound(id);
    void response.header('ETag', orderHeaders(order).ETag);
    return orderBody(order);
  }

  /** The newest first. */
  @Get()
  @Header('Cache-Control', 'no-store')
  async list(@CurrentTenant() { id: tenantId }: Tenant, @Query() query: ListOrdersDto) {
    const { data, nextCursor } = await this.orders.list(tenantId, query);
    return { data: data.map(orderBody), nextCursor };
  }
}
