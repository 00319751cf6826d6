import type { MigrationInterface, QueryRunner } from 'typeorm';

/** In a service of your own: `migrations/<timestamp>-item-returns.ts`, listed in `src/database/schema.ts`. */
export class ItemReturns1764500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE item_returns (
        tenant_id text COLLATE "C" NOT NULL,
        refund_id text COLLATE "C" NOT NULL,
        order_id text COLLATE "C" NOT NULL,
        line smallint NOT NULL,
        quantity integer NOT NULL CHECK (quantity > 0),
        PRIMARY KEY (tenant_id, refund_id),
        FOREIGN KEY (tenant_id, refund_id) REFERENCES refunds (tenant_id, id),
        FOREIGN KEY (tenant_id, order_id, line) REFERENCES order_items (tenant_id, order_id, position)
      );
      CREATE INDEX item_returns_of_line ON item_returns (tenant_id, order_id, line);
      ALTER TABLE item_returns ENABLE ROW LEVEL SECURITY;
      CREATE POLICY own_tenant ON item_returns USING
        (tenant_id = current_setting('checkout.tenant', true) OR current_setting('checkout.tenant', true) = '*');
      COMMENT ON TABLE item_returns IS 'Items that came back, each with the refund of what they cost.';
      COMMENT ON COLUMN item_returns.tenant_id IS 'Whose order it is.';
      COMMENT ON COLUMN item_returns.refund_id IS 'What is given back for them; they count as returned for as long as it may succeed.';
      COMMENT ON COLUMN item_returns.order_id IS 'The order.';
      COMMENT ON COLUMN item_returns.line IS 'Which line of it, from 0.';
      COMMENT ON COLUMN item_returns.quantity IS 'How many of the line came back.';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE item_returns');
  }
}
