import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How what the provider says later finds its charge's key, and when it is asked because it said nothing. */
export class OpenCharges1764468000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE charges
        ADD COLUMN idempotency_key text COLLATE "C",
        ADD COLUMN next_poll_at timestamptz NOT NULL DEFAULT now(),
        ADD COLUMN polls integer NOT NULL DEFAULT 0;
      UPDATE charges SET idempotency_key = keys.key
        FROM idempotency_keys AS keys
       WHERE keys.tenant_id = charges.tenant_id AND keys.request_derived_key = charges.derived_key
         AND keys.status <> 'finished';
      CREATE INDEX charges_open ON charges (tenant_id, next_poll_at) WHERE status IN ('requires_action', 'processing');
      COMMENT ON COLUMN charges.idempotency_key IS 'The client''s key that made the charge, to find its row while that is unfinished; the row may be gone, or be another execution''s.';
      COMMENT ON COLUMN charges.next_poll_at IS 'When the reconciler asks the provider, while the charge is open (requires_action, processing).';
      COMMENT ON COLUMN charges.polls IS 'How often it has asked.';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX charges_open;
      ALTER TABLE charges DROP COLUMN idempotency_key, DROP COLUMN next_poll_at, DROP COLUMN polls;
    `);
  }
}
