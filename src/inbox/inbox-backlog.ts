import { Injectable } from '@nestjs/common';
import { ofEarliest } from '../database/earliest.js';
import { Database } from '../database/transaction.js';
import { Metrics } from '../metrics/metrics.js';
import { WAITING, WAITING_MESSAGES } from './inbox.store.js';

/** Whether what was received is applied. */
@Injectable()
export class InboxBacklog {
  constructor(metrics: Metrics, database: Database) {
    metrics.storedGauges(
      {
        checkout_inbox_due: 'Messages that are due and not applied, up to 10,000',
        checkout_inbox_due_age_seconds: 'For how long the first of them has been due',
      },
      async () => {
        const [backlog] = await database.query<Record<'due' | 'age', number>>(BACKLOG);
        return { checkout_inbox_due: backlog!.due, checkout_inbox_due_age_seconds: backlog!.age };
      },
    );
  }
}

/** As for the outbox. */
const BACKLOG = ofEarliest(
  'inbox_backlog',
  WAITING_MESSAGES,
  `SELECT (SELECT count(*)::int
             FROM (SELECT 1 FROM inbox_messages WHERE ${WAITING} AND due_at <= now() LIMIT 10000) AS due) AS due,
          (SELECT greatest(0, coalesce(extract(epoch FROM now() - min(at)), 0))::float8 FROM earliest) AS age`,
);
