import { Injectable } from '@nestjs/common';
import { acrossTenants, statement } from '../database/statement.js';
import { Database } from '../database/transaction.js';
import { Metrics } from '../metrics/metrics.js';

/** What is not finished: keys that wait to be taken up again, and questions that wait for a person. */
@Injectable()
export class KeyBacklog {
  constructor(metrics: Metrics, database: Database) {
    metrics.storedGauges(
      {
        checkout_keys_in_progress: 'Keys that are not finished, up to 10,000',
        checkout_keys_in_progress_age_seconds: 'Since when the oldest of them is not',
        checkout_keys_in_review: 'Keys that wait for a person, up to 10,000',
        checkout_reviews_open: 'Open reviews of every kind, up to 10,000',
        checkout_reviews_open_age_seconds: 'Since when the oldest of them is open',
      },
      async () => {
        const [backlog] = await database.query<Record<Column, number>>(BACKLOG);
        return {
          checkout_keys_in_progress: backlog!.keys,
          checkout_keys_in_progress_age_seconds: backlog!.keyAge,
          checkout_keys_in_review: backlog!.keysInReview,
          checkout_reviews_open: backlog!.reviews,
          checkout_reviews_open_age_seconds: backlog!.reviewAge,
        };
      },
    );
  }
}

type Column = 'keys' | 'keyAge' | 'keysInReview' | 'reviews' | 'reviewAge';

/** Along the partial indexes of what is not finished, and so many rows at most: finished keys are never counted. */
const BACKLOG = acrossTenants(
  statement(
    'key_backlog',
    `SELECT * FROM
     (SELECT count(*)::int AS keys, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "keyAge"
        FROM (SELECT created_at FROM idempotency_keys WHERE status = 'in_progress' LIMIT 10000) AS unfinished) AS k,
     (SELECT count(*)::int AS reviews, coalesce(extract(epoch FROM now() - min(opened_at)), 0)::float8 AS "reviewAge",
             count(DISTINCT (tenant_id, subject_id)) FILTER (WHERE subject_kind = 'idempotency_key')::int AS "keysInReview"
        FROM (SELECT tenant_id, subject_kind, subject_id, opened_at FROM reviews
               WHERE decided_at IS NULL LIMIT 10000) AS open) AS r`,
  ),
);
