import { Injectable } from '@nestjs/common';
import type { Tx } from '../database/transaction.js';
import { openReview } from '../idempotency/open-review.js';
import { InboxHandler, type ReceivedMessage } from '../inbox/message-handler.js';
import { PROVIDER, type PaymentEvent } from '../payments/payment-event.js';
import { ChargeNewsHandler } from './charge-news.js';
import { RefundNewsHandler } from './refund-news.js';

/** Applies what the payment provider told us, in whatever order it came. */
@Injectable()
export class PaymentEventHandler extends InboxHandler {
  readonly source = PROVIDER;

  constructor(
    private readonly charges: ChargeNewsHandler,
    private readonly refunds: RefundNewsHandler,
  ) {
    super();
  }

  async prepare(message: ReceivedMessage): Promise<void> {
    const { news } = eventOf(message);
    if (news.about === 'charge') await this.charges.prepare(news);
  }

  async apply(tx: Tx, message: ReceivedMessage): Promise<void> {
    const { id, type, news } = eventOf(message);
    if (news.about === 'charge') await this.charges.apply(tx, { id, type, news });
    else await this.refunds.apply(tx, { id, type, news });
  }

  /** Of the payload nothing is relied on: it may be what cannot be applied. */
  giveUp(tx: Tx, { tenantId, id, payload, attempts }: ReceivedMessage, lastError: string): void {
    const { type = null, news = null } = (payload ?? {}) as Partial<PaymentEvent>;
    openReview(tx, {
      tenantId,
      subject: { kind: 'event', id },
      reason: 'event_not_applied',
      evidence: { event: id, type, provider: news, attempts, lastError },
    });
  }
}

/** As the controller stored it. */
function eventOf({ id, payload }: ReceivedMessage): PaymentEvent {
  return { id, ...(payload as Omit<PaymentEvent, 'id'>) };
}
