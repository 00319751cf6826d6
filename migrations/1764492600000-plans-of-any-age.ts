import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Every index begins with the tenant. Statistics of a table that had one row, or one row of each tenant, say that the
 * tenant alone finds a row: any index will do then, and a plan may read all of a tenant's rows to find one of them, over
 * and over, until statistics are taken again. So the planner is told the opposite, however many tenants there are: the
 * tenant alone finds nothing, and an index is worth what it has besides.
 */
export class PlansOfAnyAge1764492600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of TABLES)
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN tenant_id SET (n_distinct = 1)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of TABLES)
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN tenant_id RESET (n_distinct)`);
  }
}

const TABLES = [
  'idempotency_keys',
  'orders',
  'order_items',
  'charges',
  'refunds',
  'ledger_entries',
  'outbox_messages',
  'inbox_messages',
  'reviews',
];
