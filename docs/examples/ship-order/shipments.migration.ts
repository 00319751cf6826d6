import type { MigrationInterface, QueryRunner } from 'typeorm';

/** In a service of your own: `migrations/<timestamp>-shipments.ts`, listed in `src/database/schema.ts`. */
export class Shipments1764500100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE shipments (
        tenant_id text COLLATE "C" NOT NULL,
        order_id text COLLATE "C" NOT NULL,
        status text NOT NULL CHECK (status IN ('reserving', 'reserved', 'refused')),
        reservation_id text,
        PRIMARY KEY (tenant_id, order_id),
        FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id),
        CHECK ((status = 'reserved') = (reservation_id IS NOT NULL))
      );
      ALTER TABLE shipments ENABLE ROW LEVEL SECURITY;
      CREATE POLICY own_tenant ON shipments USING
        (tenant_id = current_setting('checkout.tenant', true) OR current_setting('checkout.tenant', true) = '*');
      COMMENT ON TABLE shipments IS 'Goods of paid orders, as the warehouse has them. One of an order: two keys cannot send them twice.';
      COMMENT ON COLUMN shipments.tenant_id IS 'Whose order it is.';
      COMMENT ON COLUMN shipments.order_id IS 'The order.';
      COMMENT ON COLUMN shipments.status IS 'reserving: the warehouse is, or was, asked; refused: what was charged goes back.';
      COMMENT ON COLUMN shipments.reservation_id IS 'The warehouse''s name of the reservation.';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE shipments');
  }
}
