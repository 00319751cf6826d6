import type { OutboxMessage } from '../outbox/outbox.js';

export const EVENT_TOPIC = 'event';

/** The types of events, each with what it tells; `docs/events.md` describes them for whoever listens. */
export interface Events {
  /** The money is there. Once per order. */
  'order.paid': ChargeData;
  /** Money has gone back. Once per refund; an order may have several. */
  'order.refunded': RefundData;
  /** The bank has sent a refund back, days later: what `order.refunded` told is undone. Once per refund at most. */
  'order.refund_reversed': RefundData;
  /** A charge ended without paying its order, which may be paid by another one. Once per charge. */
  'charge.failed': ChargeData & Ending;
}

export interface ChargeData {
  readonly orderId: string;
  readonly chargeId: string;
  /** In the provider's smallest unit of the currency. */
  readonly amount: number;
  /** Three letters, lower case. */
  readonly currency: string;
}

export interface RefundData extends ChargeData {
  readonly refundId: string;
}

/** The provider's codes alone: its sentences may name a person. */
export interface Ending {
  readonly status: 'declined' | 'rejected' | 'canceled';
  readonly code: string | null;
  readonly declineCode: string | null;
}

/** An event as it is staged. */
export type EventMessage = {
  readonly [Type in keyof Events]: { readonly type: Type; readonly data: Events[Type] };
}[keyof Events];

export function orderPaid(tenantId: string, data: ChargeData): OutboxMessage {
  return staged(tenantId, data.orderId, { type: 'order.paid', data });
}

export function orderRefunded(tenantId: string, data: RefundData): OutboxMessage {
  return staged(tenantId, data.refundId, { type: 'order.refunded', data });
}

export function orderRefundReversed(tenantId: string, data: RefundData): OutboxMessage {
  return staged(tenantId, data.refundId, { type: 'order.refund_reversed', data });
}

export function chargeFailed(tenantId: string, data: ChargeData & Ending): OutboxMessage {
  return staged(tenantId, data.chargeId, { type: 'charge.failed', data });
}

/**
 * @param subject it happens to this once, so that with the type it names the event for good
 * The events of an order are an order of their own: no receipt waits for the broker, and no event for the mail server.
 */
function staged(tenantId: string, subject: string, event: EventMessage): OutboxMessage {
  return {
    tenantId,
    topic: EVENT_TOPIC,
    dedupeKey: `${event.type}:${subject}`,
    orderingKey: `events:${event.data.orderId}`,
    payload: event,
  };
}
