import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A message that cannot be applied is given up, and a person is asked; what is due does not look at it again. */
export class DeadEvents1764486900000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE inbox_messages ADD COLUMN dead_at timestamptz,
        ADD CHECK (applied_at IS NULL OR dead_at IS NULL);
      COMMENT ON COLUMN inbox_messages.dead_at IS 'When it was given up, after too many tries; a person may have it tried again. Null for all others.';
      DROP INDEX inbox_messages_due;
      CREATE INDEX inbox_messages_due ON inbox_messages (tenant_id, due_at) WHERE applied_at IS NULL AND dead_at IS NULL;
    `);
  }

  /** What was given up is due again: without the column nobody would ever try it. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX inbox_messages_due;
      CREATE INDEX inbox_messages_due ON inbox_messages (tenant_id, due_at) WHERE applied_at IS NULL;
      ALTER TABLE inbox_messages DROP COLUMN dead_at;
    `);
  }
}
