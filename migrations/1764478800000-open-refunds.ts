import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When the provider is asked about a refund that it has not made at once, because it said nothing more. */
export class OpenRefunds1764478800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE refunds
        ADD COLUMN next_poll_at timestamptz NOT NULL DEFAULT now(),
        ADD COLUMN polls integer NOT NULL DEFAULT 0;
      CREATE INDEX refunds_open ON refunds (tenant_id, next_poll_at)
        WHERE status IN ('pending', 'requires_action') AND provider_id IS NOT NULL;
      COMMENT ON COLUMN refunds.next_poll_at IS 'When the refund reconciler asks the provider, while the refund is open there (pending, requires_action).';
      COMMENT ON COLUMN refunds.polls IS 'How often it has asked.';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX refunds_open;
      ALTER TABLE refunds DROP COLUMN next_poll_at, DROP COLUMN polls;
    `);
  }
}
