import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the service that listens keeps of orders; everything else in its database is that of a clone of this one. */
export class Takings1764500300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE takings (
        tenant_id text COLLATE "C" NOT NULL,
        order_id text COLLATE "C" NOT NULL,
        currency text NOT NULL,
        paid bigint NOT NULL DEFAULT 0,
        refunded bigint NOT NULL DEFAULT 0,
        failed_charges integer NOT NULL DEFAULT 0,
        last_event text NOT NULL,
        last_sequence bigint NOT NULL,
        PRIMARY KEY (tenant_id, order_id)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE takings');
  }
}
