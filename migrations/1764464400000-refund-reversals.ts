import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A refund that succeeded may fail days later. What the ledger said of it stays, and a row that reverses it is added.
 * Besides, refunds get the guards that charges have: one per derived key, none succeeded that the provider has no
 * name for.
 */
export class RefundReversals1764464400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_kind_check,
        ADD CHECK (kind IN ('charge', 'refund', 'refund_reversal'));
      COMMENT ON COLUMN ledger_entries.kind IS 'charge: money came in; refund: it went back; refund_reversal: that refund failed later.';
      COMMENT ON COLUMN ledger_entries.subject IS 'The order of a charge (an order is paid once), the refund of a refund and of its reversal.';
      ALTER TABLE refunds ADD UNIQUE (tenant_id, derived_key),
        ADD CHECK (status <> 'succeeded' OR provider_id IS NOT NULL);
      COMMENT ON COLUMN orders.amount_refunded IS 'Reserved or refunded so far; never above the amount.';
    `);
  }

  /** Refused where there are reversals: without them the ledger would say that the money went. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      COMMENT ON COLUMN orders.amount_refunded IS 'How much of the amount went back.';
      ALTER TABLE refunds DROP CONSTRAINT refunds_tenant_id_derived_key_key, DROP CONSTRAINT refunds_check;
      COMMENT ON COLUMN ledger_entries.subject IS 'The order of a charge (an order is paid once), the refund of a refund.';
      COMMENT ON COLUMN ledger_entries.kind IS 'charge: money came in; refund: it went back.';
      ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_kind_check,
        ADD CHECK (kind IN ('charge', 'refund'));
    `);
  }
}
