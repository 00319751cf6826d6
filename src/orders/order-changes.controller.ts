import { Body, Controller, HttpCode, Param, Post, Put, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { IfMatch, type SeenVersions } from '../http/if-match.js';
import { validationFailed } from '../http/problems.js';
import { CurrentTenant, type Tenant } from '../tenancy/tenant.js';
import { CancelOrder } from './cancel-order.js';
import { AddressDto, CreateOrderDto } from './create-order.dto.js';
import { orderBody, orderHeaders, type Order } from './order.js';
import { toOrderInput } from './order-input.js';
import { OrderRefDto } from './order-ref.dto.js';
import { PutOrder } from './put-order.js';
import { SetShippingAddress } from './set-shipping-address.js';

/** Changes that are idempotent by nature: they need no Idempotency-Key, and one that is sent has no effect. */
@ApiTags('orders')
@ApiBearerAuth()
@Controller('v1/orders')
export class OrderChangesController {
  constructor(
    private readonly putOrder: PutOrder,
    private readonly shippingAddress: SetShippingAddress,
    private readonly cancelOrder: CancelOrder,
  ) {}

  /** Makes the order, or makes it what the body says. With If-Match, only where that is what is there now. */
  @Put('by-external-ref/:ref')
  async put(
    @CurrentTenant() { id: tenantId }: Tenant,
    @Param() { ref: externalRef }: OrderRefDto,
    @Body() body: CreateOrderDto,
    @IfMatch() seen: SeenVersions | undefined,
    @Res({ passthrough: true }) response: FastifyReply,
  ): Promise<Record<string, unknown>> {
    if ((body.externalRef ?? externalRef) !== externalRef)
      throw validationFailed([{ param: 'externalRef', message: 'externalRef must be the ref of the path' }]);
    const input = { ...toOrderInput(body), externalRef };
    const { created, order } = await this.putOrder.run(tenantId, input, seen);
    void response.status(created ? 201 : 200);
    return answer(response, order);
  }

  /** Where the goods go, as long as nothing is paid. */
  @Put(':id/shipping-address')
  async setShippingAddress(
    @CurrentTenant() { id: tenantId }: Tenant,
    @Param('id') id: string,
    @Body() address: AddressDto,
    @IfMatch() seen: SeenVersions | undefined,
    @Res({ passthrough: true }) response: FastifyReply,
  ): Promise<Record<string, unknown>> {
    return answer(response, await this.shippingAddress.run(tenantId, id, { ...address }, seen));
  }

  /** Canceled is canceled: for good, and however often it is asked for. Takes no members. */
  @Post(':id/cancel')
  @HttpCode(200)
  async cancel(
    @CurrentTenant() { id: tenantId }: Tenant,
    @Param('id') id: string,
    @Body() body: Record<string, unknown>,
    @IfMatch() seen: SeenVersions | undefined,
    @Res({ passthrough: true }) response: FastifyReply,
  ): Promise<Record<string, unknown>> {
    refuseMembers(body);
    return answer(response, await this.cancelOrder.run(tenantId, id, seen));
  }
}

function refuseMembers(body: Record<string, unknown>): void {
  const [first, ...others] = Object.keys(body).map((param) => ({
    param,
    message: `${param} is not a known member`,
  }));
  if (first) throw validationFailed([first, ...others]);
}

/** The body is the order, which has another address than the route. */
function answer(response: FastifyReply, order: Order): Record<string, unknown> {
  const { Location, ETag } = orderHeaders(order);
  void response.headers({
    'Content-Location': Location,
    ETag,
    ...(response.statusCode === 201 && { Location }),
  });
  return orderBody(order);
}
