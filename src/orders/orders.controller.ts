import { Body, Controller, Get, Header, Param, Post, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Problems } from '../http/problems.decorator.js';
import { invalid } from '../http/validation.example.js';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { Replies } from '../idempotency/replies.decorator.js';
import { CurrentTenant, type Tenant } from '../tenancy/tenant.js';
import { CreateOrder } from './create-order.operation.js';
import { CreateOrderDto } from './create-order.dto.js';
import { ListOrdersDto } from './list-orders.dto.js';
import { orderBody, orderHeaders, type OrderInput } from './order.js';
import { OrderBody, OrderPageBody } from './order-body.dto.js';
import { ETAG, EXAMPLE_ORDER, INVALID_ORDER } from './order.example.js';
import { toOrderInput } from './order-input.js';
import { externalRefTaken, orderNotFound } from './order.problems.js';
import { OrdersReader } from './orders.reader.js';

@ApiTags('orders')
@ApiBearerAuth()
@Controller('v1/orders')
export class OrdersController {
  constructor(private readonly orders: OrdersReader) {}

  /** Creates an order that is to be paid later. */
  @Post()
  @Idempotent(CreateOrder, { notFingerprinted: ['/clientSentAt'] })
  @Replies(OrderBody, orderBody(EXAMPLE_ORDER), { Location: 'The order.', ETag: 'Its version.' })
  @Problems(INVALID_ORDER, externalRefTaken(EXAMPLE_ORDER))
  create(@Body() body: CreateOrderDto): OrderInput {
    return toOrderInput(body);
  }

  /** An order as it is now. */
  @Get(':id')
  @ApiOkResponse({ type: OrderBody, example: orderBody(EXAMPLE_ORDER), headers: { ETag: ETAG } })
  @Problems(orderNotFound(EXAMPLE_ORDER.id))
  async read(
    @CurrentTenant() { id: tenantId }: Tenant,
    @Param('id') id: string,
    @Res({ passthrough: true }) response: FastifyReply,
  ): Promise<OrderBody> {
    const order = await this.orders.find(tenantId, id);
    if (!order) throw orderNotFound(id);
    void response.header('ETag', orderHeaders(order).ETag);
    return orderBody(order);
  }

  /** The newest first. */
  @Get()
  @Header('Cache-Control', 'no-store')
  @ApiOkResponse({
    type: OrderPageBody,
    example: { data: [orderBody(EXAMPLE_ORDER)], nextCursor: EXAMPLE_ORDER.id },
  })
  @Problems(invalid('limit', 'must not be greater than 100'))
  async list(
    @CurrentTenant() { id: tenantId }: Tenant,
    @Query() query: ListOrdersDto,
  ): Promise<OrderPageBody> {
    const { data, nextCursor } = await this.orders.list(tenantId, query);
    return { data: data.map(orderBody), nextCursor };
  }
}
