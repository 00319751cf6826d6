import { typeidUnboxed } from 'typeid-js';
import { statement } from '../database/statement.js';
import type { Database, Tx } from '../database/transaction.js';

/** A question that no program may decide. About an unfinished key it is opened by `Reviews`, which also stops the key. */
export interface OpenQuestion {
  readonly tenantId: string;
  readonly subject:
    | { readonly kind: 'charge' | 'refund' | 'event'; readonly id: string }
    | { readonly kind: 'idempotency_key'; readonly id: string; readonly key: string };
  /** A stable code for why a person is asked. */
  readonly reason: string;
  /** What is known; no secrets, no values of the request. */
  readonly evidence: Readonly<Record<string, unknown>>;
}

/** Asks once: while the same question about the same subject is open, what else is known is added to its evidence. */
export function openReview(tx: Tx, { tenantId, subject, reason, evidence }: OpenQuestion): void {
  const id = typeidUnboxed('rev');
  const key = 'key' in subject ? subject.key : null;
  tx.send(OPEN, [tenantId, id, subject.kind, subject.id, key, reason, JSON.stringify(evidence)]);
}

/** Asks in a transaction of its own: the question is all that there is to write. */
export function askPerson(database: Database, question: OpenQuestion): Promise<void> {
  return database.transaction(async (tx) => openReview(tx, question));
}

/** One that is told of again and again must not grow for ever. */
const MOST_LATER = 20;

const OPEN = statement(
  'review_open',
  `INSERT INTO reviews (tenant_id, id, subject_kind, subject_id, idempotency_key, reason, evidence)
   VALUES ($1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT (tenant_id, subject_kind, subject_id, reason) WHERE decided_at IS NULL DO UPDATE
     SET evidence = jsonb_set(reviews.evidence::jsonb, '{later}',
       coalesce(reviews.evidence::jsonb -> 'later', '[]') || excluded.evidence::jsonb)
     WHERE NOT reviews.evidence::jsonb @> excluded.evidence::jsonb
       AND NOT coalesce(reviews.evidence::jsonb -> 'later', '[]') @> ('[]' || excluded.evidence::jsonb)
       AND jsonb_array_length(coalesce(reviews.evidence::jsonb -> 'later', '[]')) < ${MOST_LATER}`,
);
