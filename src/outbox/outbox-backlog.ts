import { Injectable } from '@nestjs/common';
import { ofEarliest } from '../database/earliest.js';
import { Database } from '../database/transaction.js';
import { Metrics } from '../metrics/metrics.js';
import { WAITING } from './outbox.store.js';

/** Whether the relay keeps up. */
@Injectable()
export class OutboxBacklog {
  constructor(metrics: Metrics, database: Database) {
    metrics.storedGauges(
      {
        checkout_outbox_due: 'Messages that are due and not sent, up to 10,000',
        checkout_outbox_due_age_seconds: 'For how long the first of them has been due',
        checkout_outbox_dead: 'Messages that were given up, up to 10,000',
      },
      async () => {
        const [backlog] = await database.query<Record<'due' | 'age' | 'dead', number>>(BACKLOG);
        return {
          checkout_outbox_due: backlog!.due,
          checkout_outbox_due_age_seconds: backlog!.age,
          checkout_outbox_dead: backlog!.dead,
        };
      },
    );
  }
}

/** The counts end where more would say no more. */
const BACKLOG = ofEarliest(
  'outbox_backlog',
  WAITING,
  `SELECT (SELECT count(*)::int FROM (SELECT 1 FROM outbox_messages WHERE due_at <= now() ORDER BY tenant_id, due_at LIMIT 10000) AS due) AS due,
          (SELECT greatest(0, coalesce(extract(epoch FROM now() - min(at)), 0))::float8 FROM earliest) AS age,
          (SELECT count(*)::int FROM (SELECT 1 FROM outbox_messages WHERE dead_at IS NOT NULL ORDER BY id LIMIT 10000) AS dead) AS dead`,
);
