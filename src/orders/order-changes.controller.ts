import { Body, Controller, HttpCode, Param, Post, Put, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiCreatedResponse, ApiHeader, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { hasCardNumber } from '../http/card-numbers.js';
import { IfMatch, type SeenVersions } from '../http/if-match.js';
import {
  cardNumberRefused,
  ifMatchInvalid,
  preconditionFailed,
  preconditionRequired,
  validationFailed,
} from '../http/problems.js';
import { Problems } from '../http/problems.decorator.js';
import { invalid } from '../http/validation.example.js';
import { CurrentTenant, type Tenant } from '../tenancy/tenant.js';
import { CancelOrder } from './cancel-order.js';
import { AddressDto, CreateOrderDto } from './create-order.dto.js';
import { orderBody, orderHeaders, type Order } from './order.js';
import { OrderBody } from './order-body.dto.js';
import { ETAG, EXAMPLE_ORDER, INVALID_ORDER } from './order.example.js';
import { toOrderInput } from './order-input.js';
import { orderAlreadyPaid, orderCanceled, orderNotFound, orderPaymentInProgress } from './order.problems.js';
import { OrderRefDto } from './order-ref.dto.js';
import { PutOrder } from './put-order.js';
import { SetShippingAddress } from './set-shipping-address.js';

const { id: EXAMPLE_ID } = EXAMPLE_ORDER;

/** What every change may be refused for. */
const REFUSALS = [
  ifMatchInvalid(),
  orderAlreadyPaid(EXAMPLE_ID, 'changed'),
  orderPaymentInProgress(EXAMPLE_ID, 'changed'),
  preconditionFailed(),
];

const AS_ASKED = {
  type: OrderBody,
  description: 'It is as asked, now or before.',
  headers: { ETag: ETAG },
};

const asAsked = (order: Order) => ApiOkResponse({ ...AS_ASKED, example: orderBody(order) });

/** @param required whether a change that does not say what was seen is refused */
function TakesIfMatch(required: boolean): MethodDecorator {
  return ApiHeader({
    name: 'If-Match',
    required,
    description:
      'The ETag of the order as it was read. Another version by now is 412; one that is as asked already is 200.',
    schema: { type: 'string', example: '"1"' },
  });
}

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
  @TakesIfMatch(false)
  @asAsked(EXAMPLE_ORDER)
  @ApiCreatedResponse({ ...AS_ASKED, description: 'Made.', example: orderBody(EXAMPLE_ORDER) })
  @Problems(INVALID_ORDER, ...REFUSALS, orderCanceled(EXAMPLE_ID, 'changed'))
  async put(
    @CurrentTenant() { id: tenantId }: Tenant,
    @Param() { ref: externalRef }: OrderRefDto,
    @Body() body: CreateOrderDto,
    @IfMatch() seen: SeenVersions | undefined,
    @Res({ passthrough: true }) response: FastifyReply,
  ): Promise<OrderBody> {
    if (hasCardNumber(externalRef)) throw cardNumberRefused('ref'); // of a body, whoever parsed it has seen to that
    if ((body.externalRef ?? externalRef) !== externalRef)
      throw validationFailed([{ param: 'externalRef', message: 'externalRef must be the ref of the path' }]);
    const input = { ...toOrderInput(body), externalRef };
    const { created, order } = await this.putOrder.run(tenantId, input, seen);
    void response.status(created ? 201 : 200);
    return answer(response, order);
  }

  /** Where the goods go, as long as nothing is paid. */
  @Put(':id/shipping-address')
  @TakesIfMatch(true)
  @asAsked(EXAMPLE_ORDER)
  @Problems(
    invalid('country', 'must be a valid ISO31661 Alpha2 code'),
    orderNotFound(EXAMPLE_ID),
    ...REFUSALS,
    orderCanceled(EXAMPLE_ID, 'changed'),
    preconditionRequired(),
  )
  async setShippingAddress(
    @CurrentTenant() { id: tenantId }: Tenant,
    @Param('id') id: string,
    @Body() address: AddressDto,
    @IfMatch() seen: SeenVersions | undefined,
    @Res({ passthrough: true }) response: FastifyReply,
  ): Promise<OrderBody> {
    return answer(response, await this.shippingAddress.run(tenantId, id, { ...address }, seen));
  }

  /** Canceled is canceled: for good, and however often it is asked for. Takes no members. */
  @Post(':id/cancel')
  @HttpCode(200)
  @TakesIfMatch(false)
  @asAsked({ ...EXAMPLE_ORDER, status: 'canceled' })
  @Problems(invalid('reason', 'is not a known member'), orderNotFound(EXAMPLE_ID), ...REFUSALS)
  async cancel(
    @CurrentTenant() { id: tenantId }: Tenant,
    @Param('id') id: string,
    @Body() body: Record<string, unknown>,
    @IfMatch() seen: SeenVersions | undefined,
    @Res({ passthrough: true }) response: FastifyReply,
  ): Promise<OrderBody> {
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
function answer(response: FastifyReply, order: Order): OrderBody {
  const { Location, ETag } = orderHeaders(order);
  void response.headers({
    'Content-Location': Location,
    ETag,
    ...(response.statusCode === 201 && { Location }),
  });
  return orderBody(order);
}
