import { Module } from '@nestjs/common';
import { ChargesModule } from '../../src/charges/charges.module.js';
import { OpenChargeStore } from '../../src/charges/open-charge.store.js';
import { Reconciler } from '../../src/charges/reconciler.js';
import { InboxConsumer } from '../../src/inbox/inbox-consumer.js';
import { InboxModule } from '../../src/inbox/inbox.module.js';
import { InboxStore } from '../../src/inbox/inbox.store.js';
import { InboxHandlers } from '../../src/inbox/message-handler.js';
import { OutboxModule } from '../../src/outbox/outbox.module.js';
import { PaymentsModule } from '../../src/payments/payments.module.js';
import { OpenRefundStore } from '../../src/refunds/open-refund.store.js';
import { RefundReconciler } from '../../src/refunds/refund-reconciler.js';
import { RefundsModule } from '../../src/refunds/refunds.module.js';
import { ChargeNewsHandler } from '../../src/webhooks/charge-news.js';
import { PaymentEventHandler } from '../../src/webhooks/payment-event.handler.js';
import { RefundNewsHandler } from '../../src/webhooks/refund-news.js';
import { ConfirmationStore } from '../../src/webhooks/confirmation.store.js';
import { Confirmations } from '../../src/webhooks/confirmations.js';
import { Sweep } from '../../src/webhooks/sweep.js';
import { SweepStore } from '../../src/webhooks/sweep.store.js';

/** The inbox's consumer, the reconciler and the sweep without their loops: a test runs them round by round. */
@Module({
  imports: [InboxModule, ChargesModule, RefundsModule, OutboxModule, PaymentsModule],
  providers: [
    InboxStore,
    InboxConsumer,
    PaymentEventHandler,
    ChargeNewsHandler,
    RefundNewsHandler,
    OpenChargeStore,
    Reconciler,
    OpenRefundStore,
    RefundReconciler,
    SweepStore,
    ConfirmationStore,
    Confirmations,
    Sweep,
  ],
})
export class EventParts {
  constructor(handlers: InboxHandlers, handler: PaymentEventHandler) {
    handlers.register(handler);
  }
}
