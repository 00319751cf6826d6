import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the completer remembers of its tries, and how the reaper finds what has been kept long enough. */
export class CompleterAndReaper1764442800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const sql of [COMPLETER, REAPER]) await runner.query(sql);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX outbox_messages_sent, inbox_messages_applied;
      ALTER TABLE idempotency_keys
        DROP COLUMN completer_tries, DROP COLUMN doubtful_tries, DROP COLUMN unrecognised_since`);
  }
}

const COMPLETER = `
ALTER TABLE idempotency_keys
  ADD COLUMN completer_tries integer NOT NULL DEFAULT 0,
  ADD COLUMN doubtful_tries integer NOT NULL DEFAULT 0,
  ADD COLUMN unrecognised_since timestamptz;
COMMENT ON COLUMN idempotency_keys.completer_tries IS 'How often the completer has claimed the key; its backoff grows with it.';
COMMENT ON COLUMN idempotency_keys.doubtful_tries IS 'Those of them that failed and may have acted, or died; at the cap a person decides. What surely did nothing does not count.';
COMMENT ON COLUMN idempotency_keys.unrecognised_since IS 'Since when the completer has met the key in builds that do not know its operation or recovery point; null where they do.';
`;

/** What is sent or applied is most of its table, and stays that way: the reaper must not read it to find the oldest. */
const REAPER = `
CREATE INDEX outbox_messages_sent ON outbox_messages (tenant_id, sent_at) WHERE sent_at IS NOT NULL;
CREATE INDEX inbox_messages_applied ON inbox_messages (tenant_id, applied_at) WHERE applied_at IS NOT NULL;
`;
