import { planned } from '../database/statement.js';
import type { Database, Tx } from '../database/transaction.js';
import { everyRow } from './every-row.js';
import { hasWords, withoutWords } from './providers-words.js';

export interface HeldReview {
  readonly id: string;
  readonly isOpen: boolean;
  readonly evidence: unknown;
  readonly hasNote: boolean;
  /** Whether the operator's words name the address. */
  readonly namesAddress: boolean;
}

/**
 * @param subjectIds of charges, refunds, keys and events
 * @param address names further ones, by their note; @param addresses all that the person has had
 */
export function reviewsOf(
  database: Database,
  tenantId: string,
  subjectIds: readonly string[],
  address: string | null,
  addresses: readonly string[],
): Promise<HeldReview[]> {
  return REVIEWS(database, tenantId, [subjectIds, address, addresses]);
}

/** Whether there is anything to erase of it. */
export function reviewTells({ evidence, namesAddress }: HeldReview): boolean {
  return namesAddress || hasWords(evidence);
}

/** What was decided, by whom and when stays; a note that names the address does not. */
export function eraseReviews(tx: Tx, tenantId: string, reviews: readonly HeldReview[]): Promise<number> {
  return tx.execute(ERASE, [
    tenantId,
    reviews.map(({ id }) => id),
    reviews.map(({ evidence }) => JSON.stringify(withoutWords(evidence))),
    reviews.map(({ namesAddress }) => namesAddress),
  ]);
}

const ERASED_NOTE = 'erased';

const REVIEWS = everyRow<HeldReview>({
  table: 'reviews',
  key: ['id'],
  columns: `id, decided_at IS NULL AS "isOpen", evidence, coalesce(note <> '${ERASED_NOTE}', false) AS "hasNote",
    EXISTS (SELECT FROM unnest($5::text[]) AS address WHERE strpos(lower(note), lower(address)) > 0) AS "namesAddress"`,
  where: 'subject_id = ANY ($3) OR strpos(lower(note), lower($4)) > 0',
});

const ERASE = planned(`
  UPDATE reviews SET evidence = review.evidence, note = CASE WHEN review.names_address THEN '${ERASED_NOTE}' ELSE note END
  FROM unnest($2::text[], $3::json[], $4::boolean[]) AS review (id, evidence, names_address)
  WHERE tenant_id = $1 AND reviews.id = review.id AND decided_at IS NOT NULL`);
