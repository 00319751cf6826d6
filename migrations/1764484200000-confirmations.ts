import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Whether the provider was seen to agree with what we hold for paid and refunded. What is there already counts as
 * agreed, by a default that rewrites no table; what comes after it has to be found.
 */
export class Confirmations1764484200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of ['charges', 'refunds']) await runner.query(confirmable(table));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX charges_unconfirmed, refunds_unconfirmed;
      ALTER TABLE charges DROP COLUMN confirmed_at;
      ALTER TABLE refunds DROP COLUMN confirmed_at;
    `);
  }
}

const confirmable = (table: string) => `
ALTER TABLE ${table} ADD COLUMN confirmed_at timestamptz DEFAULT now();
ALTER TABLE ${table} ALTER COLUMN confirmed_at DROP DEFAULT;
CREATE INDEX ${table}_unconfirmed ON ${table} (tenant_id, created_at, id)
  WHERE status = 'succeeded' AND confirmed_at IS NULL;
COMMENT ON COLUMN ${table}.confirmed_at IS 'When the sweep saw that the provider agrees that it succeeded, or asked a person because it does not; null until then.';
`;
