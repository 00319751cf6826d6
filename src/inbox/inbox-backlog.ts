import { Injectable } from '@nestjs/common';
import { acrossTenants, statement } from '../database/statement.js';
import { Database } from '../database/transaction.js';
import { Metrics } from '../metrics/metrics.js';
import { WAITING } from './inbox.store.js';

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

/** As for the outbox, along inbox_messages_due. */
const BACKLOG = acrossTenants(
  statement(
    'inbox_backlog',
    `WITH RECURSIVE earliest AS (
     (SELECT tenant_id, due_at FROM inbox_messages WHERE ${WAITING} ORDER BY tenant_id, due_at LIMIT 1)
     UNION ALL
     SELECT following.* FROM earliest, LATERAL (
       SELECT tenant_id, due_at FROM inbox_messages WHERE ${WAITING} AND tenant_id > earliest.tenant_id
        ORDER BY tenant_id, due_at LIMIT 1) AS following
   )
   SELECT (SELECT count(*)::int
             FROM (SELECT FROM inbox_messages WHERE ${WAITING} AND due_at <= now() LIMIT 10000) AS due) AS due,
          (SELECT greatest(0, coalesce(extract(epoch FROM now() - min(due_at)), 0))::float8 FROM earliest) AS age`,
  ),
);
