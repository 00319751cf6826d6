import type { MigrationInterface, QueryRunner } from 'typeorm';

/** For the rate limit of tenants: each process tells the others what it has let in. */
export class TenantUse1764498600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE UNLOGGED TABLE tenant_use (
      tenant_id text COLLATE "C" PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
      used bigint NOT NULL
    )`);
    await runner.query(`COMMENT ON TABLE tenant_use IS
      'How many requests each tenant has had, for the limits that processes share. Written once a second; a crash of the database empties it.'`);
    await runner.query(`COMMENT ON COLUMN tenant_use.tenant_id IS 'Whose requests they are.'`);
    await runner.query(`COMMENT ON COLUMN tenant_use.used IS
      'Requests that all processes have let in; only how fast it grows means anything.'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE tenant_use`);
  }
}
