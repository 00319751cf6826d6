import { Controller, Headers, HttpCode, Logger, Post, Req } from '@nestjs/common';
import { ApiHeader, ApiNoContentResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { BODY_LIMIT } from '../http/problem.filter.js';
import { bodyTooLarge, unsupportedMediaType } from '../http/problems.js';
import { Problems } from '../http/problems.decorator.js';
import { Public } from '../http/public.decorator.js';
import { RawBody } from '../http/raw-body.decorator.js';
import { Inbox } from '../inbox/inbox.js';
import {
  NotAnEvent,
  PaymentEvents,
  PROVIDER,
  SignatureInvalid,
  type PaymentEvent,
} from '../payments/payment-event.js';
import { webhookNotAnEvent, webhookSignatureInvalid } from './webhook.problems.js';

const NO_MEDIA_TYPE = unsupportedMediaType('Send the body as Content-Type: application/json.');
const EXAMPLE = `t=1614265330,v1=${'0123456789abcdef'.repeat(4)}`;

/** Where the payment provider tells us what happened. It is answered once the event is stored, before it takes effect. */
@ApiTags('webhooks')
@Controller('v1/webhooks')
export class WebhooksController {
  private readonly logger = new Logger(WebhooksController.name);

  constructor(
    private readonly events: PaymentEvents,
    private readonly inbox: Inbox,
  ) {}

  /** Signed by the provider (`Stripe-Signature`); needs no API key and no Idempotency-Key: the event's id is its key. */
  @Public()
  @RawBody()
  @ApiOperation({ security: [] })
  @ApiHeader({ name: 'Stripe-Signature', required: true, schema: { type: 'string', example: EXAMPLE } })
  @ApiNoContentResponse({ description: 'Stored, now or before; it takes effect later.' })
  @Problems(webhookSignatureInvalid(), webhookNotAnEvent(), bodyTooLarge(BODY_LIMIT), NO_MEDIA_TYPE)
  @HttpCode(204)
  @Post('payments')
  async receive(
    @Req() { body }: FastifyRequest,
    @Headers('stripe-signature') signature: string | undefined,
  ): Promise<void> {
    const event = this.read((body as Buffer | undefined) ?? Buffer.alloc(0), signature);
    if (!event) return;
    const { id, type, news } = event;
    await this.inbox.receive({ tenantId: news.tenantId, source: PROVIDER, id, payload: { type, news } });
  }

  private read(bytes: Buffer, signature: string | undefined): PaymentEvent | undefined {
    try {
      return this.events.read(bytes, signature);
    } catch (error) {
      if (!(error instanceof SignatureInvalid || error instanceof NotAnEvent)) throw error;
      this.logger.warn(`Webhook refused: ${error.message}`);
      throw error instanceof NotAnEvent ? webhookNotAnEvent() : webhookSignatureInvalid();
    }
  }
}
