import type { Options } from 'amqplib';
import type { StagedMessage } from '../outbox/delivery.js';
import type { EventMessage } from './event-message.js';

/** An event as it goes out; it says all that the properties of its message say, so that it can be kept alone. */
export type PublishedEvent = EventMessage & {
  /** The event's name for good, e.g. `order.paid:ord_…`: whoever gets it twice has got one event. */
  readonly id: string;
  readonly tenantId: string;
  /** Rises with every event of an order, with gaps: the later one of two has the higher number. */
  readonly sequence: number;
  /** ISO 8601: the start of the transaction that it tells of. */
  readonly occurredAt: string;
};

export interface BrokerMessage {
  readonly routingKey: string;
  readonly content: Buffer;
  readonly options: Options.Publish & { readonly messageId: string };
}

export function publishedEvent({
  tenantId,
  dedupeKey,
  sequence,
  createdAt,
  payload,
}: StagedMessage): PublishedEvent {
  const { type, data } = payload as EventMessage;
  const occurredAt = createdAt.toISOString();
  return { id: dedupeKey, type, tenantId, sequence, occurredAt, data } as PublishedEvent;
}

/** The same event always makes the same message, byte for byte. */
export function brokerMessage(event: PublishedEvent): BrokerMessage {
  const { id, type, tenantId, sequence, occurredAt } = event;
  return {
    routingKey: type,
    content: Buffer.from(JSON.stringify(event)),
    options: {
      messageId: id,
      type,
      contentType: 'application/json',
      timestamp: Math.floor(Date.parse(occurredAt) / 1_000), // AMQP counts seconds
      headers: { tenant: tenantId, sequence },
      persistent: true,
      mandatory: true, // to no queue at all is an error, not a delivery
    },
  };
}
