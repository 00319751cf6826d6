import { Module } from '@nestjs/common';
import { MessageHandlers } from '../outbox/delivery.js';
import { OutboxModule } from '../outbox/outbox.module.js';
import { ReceiptMailer } from './receipt-mailer.js';

/** Delivers staged receipts; for the role that runs the relay. To stage one, `receiptFor` is all it takes. */
@Module({ imports: [OutboxModule], providers: [ReceiptMailer], exports: [ReceiptMailer] })
export class ReceiptsModule {
  constructor(handlers: MessageHandlers, mailer: ReceiptMailer) {
    handlers.register(mailer);
  }
}
