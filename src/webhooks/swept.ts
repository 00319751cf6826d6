import type { Inbox } from '../inbox/inbox.js';
import { PROVIDER, type ChargeNews, type RefundNews } from '../payments/payment-event.js';

/** Puts a state that was found at the provider into the inbox, once. @returns whether it is news */
export function tellSwept(inbox: Inbox, news: ChargeNews | RefundNews): Promise<boolean> {
  const { tenantId, providerId, outcome } = news;
  const id = `swept:${providerId}:${outcome.status}`;
  return inbox.receive({ tenantId, source: PROVIDER, id, payload: { type: 'swept', news } });
}
