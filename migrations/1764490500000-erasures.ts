import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whose data was erased, when and by whom. A table of its own: no checkout pays for it. */
export class Erasures1764490500000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE erasures (
        tenant_id text COLLATE "C" NOT NULL,
        order_id text COLLATE "C" NOT NULL,
        erased_by text NOT NULL,
        erased_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tenant_id, order_id),
        FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id)
      );
      COMMENT ON TABLE erasures IS 'Orders whose customer asked to be erased, and was.';
      COMMENT ON COLUMN erasures.tenant_id IS 'Whose order it is.';
      COMMENT ON COLUMN erasures.order_id IS 'The order; it stays in the books, without its customer.';
      COMMENT ON COLUMN erasures.erased_by IS 'Who erased it first: a label made from the operator token, never the token.';
      COMMENT ON COLUMN erasures.erased_at IS 'When that was.';
    `);
  }

  /** The data stays erased; who did it is forgotten. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE erasures');
  }
}
