import { Module } from '@nestjs/common';
import { ChargesModule } from '../charges/charges.module.js';
import { Decisions } from '../idempotency/decisions.js';
import { Inbox } from '../inbox/inbox.js';
import { InboxConsumerModule, InboxModule } from '../inbox/inbox.module.js';
import { InboxHandlers } from '../inbox/message-handler.js';
import { OutboxModule } from '../outbox/outbox.module.js';
import { PROVIDER } from '../payments/payment-event.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { RefundsModule } from '../refunds/refunds.module.js';
import { ChargeNewsHandler } from './charge-news.js';
import { PaymentEventHandler } from './payment-event.handler.js';
import { RefundNewsHandler } from './refund-news.js';
import { WebhooksController } from './webhooks.controller.js';

/** What applies the provider's events, for the worker role. */
@Module({
  imports: [InboxConsumerModule, InboxModule, ChargesModule, RefundsModule, OutboxModule],
  providers: [PaymentEventHandler, ChargeNewsHandler, RefundNewsHandler],
})
export class WebhooksModule {
  constructor(handlers: InboxHandlers, handler: PaymentEventHandler) {
    handlers.register(handler);
  }
}

/** What receives them, and has one applied again where a person says so. */
@Module({ imports: [InboxModule, PaymentsModule], controllers: [WebhooksController] })
export class WebhooksRoutes {
  constructor(decisions: Decisions, inbox: Inbox) {
    decisions.register('event', (tx, { tenantId, subjectId: id, decision }) => {
      if (decision === 'retry') inbox.applyAgain(tx, { tenantId, source: PROVIDER, id });
    });
  }
}
