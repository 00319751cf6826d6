import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What an operator decides, who decided it, and how the key that it is about learns of it. */
export class OperatorDecisions1764460800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const sql of [REVIEWS, KEYS, DEAD_LETTERS]) await runner.query(sql);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX outbox_messages_dead, reviews_newest;
      ALTER TABLE idempotency_keys DROP COLUMN known_outcome;
      ALTER TABLE reviews DROP COLUMN idempotency_key, DROP COLUMN provider_id, DROP COLUMN note;
    `);
  }
}

/** Operators read across tenants, the newest first: the one index that does not begin with the tenant. */
const REVIEWS = `
ALTER TABLE reviews
  ADD COLUMN idempotency_key text COLLATE "C",
  ADD COLUMN provider_id text CHECK (length(provider_id) <= 255),
  ADD COLUMN note text CHECK (length(note) <= 1000);
UPDATE reviews SET idempotency_key = keys.key
  FROM idempotency_keys AS keys
 WHERE reviews.subject_kind = 'idempotency_key' AND keys.tenant_id = reviews.tenant_id AND keys.id = reviews.subject_id;
CREATE INDEX reviews_newest ON reviews (id);
COMMENT ON COLUMN reviews.idempotency_key IS 'The key that the question is about, to find its row; shown to nobody.';
COMMENT ON COLUMN reviews.provider_id IS 'The payment at the provider that the decision names.';
COMMENT ON COLUMN reviews.note IS 'Why the person decided so, in their words.';
COMMENT ON COLUMN reviews.decided_by IS 'Who: a label made from the operator token, never the token.';
`;

const KEYS = `
ALTER TABLE idempotency_keys ADD COLUMN known_outcome json;
COMMENT ON COLUMN idempotency_keys.known_outcome IS 'What a person decided that the frozen request came to; the next owner records it in place of the call. Null once it is recorded.';
`;

const DEAD_LETTERS = `
CREATE INDEX outbox_messages_dead ON outbox_messages (id) WHERE dead_at IS NOT NULL;
`;
