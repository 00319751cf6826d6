import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Money that the provider takes for a charge that had ended is written down, and goes back. */
export class OwedBack1764482400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE charges ADD COLUMN owed_back boolean NOT NULL DEFAULT false,
        ADD CHECK (NOT owed_back OR (status IN ('declined', 'rejected', 'canceled') AND provider_id IS NOT NULL));
      COMMENT ON COLUMN charges.owed_back IS 'The provider took the money although the charge had ended: all of it is refunded.';
      ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_kind_check,
        ADD CHECK (kind IN ('charge', 'owed_back', 'refund', 'refund_reversal'));
      COMMENT ON COLUMN ledger_entries.kind IS 'charge: money came in; owed_back: it came in for a charge that had ended; refund: it went back; refund_reversal: that refund failed later.';
      COMMENT ON COLUMN ledger_entries.subject IS 'The order of a charge (an order is paid once), the charge whose money is owed back, the refund of a refund and of its reversal.';
    `);
  }

  /** Refused where money is owed back: without the column nobody would know. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      COMMENT ON COLUMN ledger_entries.subject IS 'The order of a charge (an order is paid once), the refund of a refund and of its reversal.';
      COMMENT ON COLUMN ledger_entries.kind IS 'charge: money came in; refund: it went back; refund_reversal: that refund failed later.';
      ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_kind_check,
        ADD CHECK (kind IN ('charge', 'refund', 'refund_reversal'));
      ALTER TABLE charges DROP COLUMN owed_back;
    `);
  }
}
