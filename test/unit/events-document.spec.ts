import { readFile } from 'node:fs/promises';
import {
  chargeFailed,
  orderPaid,
  orderRefunded,
  orderRefundReversed,
  type EventMessage,
} from '../../src/events/event-message.js';
import { publishedEvent, type PublishedEvent } from '../../src/events/published-event.js';
import type { OutboxMessage } from '../../src/outbox/outbox.js';

/** Stages what an example tells of, as the service would. */
function staged(tenantId: string, event: EventMessage): OutboxMessage {
  switch (event.type) {
    case 'order.paid':
      return orderPaid(tenantId, event.data);
    case 'order.refunded':
      return orderRefunded(tenantId, event.data);
    case 'order.refund_reversed':
      return orderRefundReversed(tenantId, event.data);
    case 'charge.failed':
      return chargeFailed(tenantId, event.data);
  }
}

describe('docs/events.md', () => {
  let examples: [heading: string, example: PublishedEvent][];
  beforeAll(async () => {
    const text = await readFile('docs/events.md', 'utf8');
    examples = [...text.matchAll(/^### `(.+)`\n[^]*?```json\n([^]*?)```/gm)].map(([, heading, json]) => [
      heading!,
      JSON.parse(json!) as PublishedEvent,
    ]);
  });

  it('has an example of every type, under its name', async () => {
    const source = await readFile('src/events/event-message.ts', 'utf8');
    const types = [...source.matchAll(/^ {2}'(\w+\.\w+)':/gm)].map(([, type]) => type);
    expect(types).toHaveLength(4);
    expect(examples.map(([heading]) => heading)).toEqual(types);
    expect(examples.map(([, { type }]) => type)).toEqual(types);
  });

  it('shows each as it is published', () => {
    for (const [, example] of examples) {
      const { tenantId, sequence, occurredAt } = example;
      const { dedupeKey, topic, payload } = staged(tenantId, example);
      const createdAt = new Date(occurredAt);
      const message = { tenantId, id: 'msg_1', dedupeKey, topic, sequence, payload, createdAt, attempts: 1 };
      const published = JSON.stringify(publishedEvent(message), null, 2);
      expect(published).toBe(JSON.stringify(example, null, 2)); // the order of members too
    }
  });
});
