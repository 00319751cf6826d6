import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Before a key is revoked, somebody has to know whether it is still used. */
export class ApiKeysInUse1764495000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE api_keys ADD last_used_at timestamptz`);
    await runner.query(`COMMENT ON COLUMN api_keys.last_used_at IS
      'When a request last brought the key, to within two minutes; null before the first. Written in batches, and lost where a process is killed.'`);
    await runner.query(`COMMENT ON COLUMN api_keys.prefix IS
      'The first characters of the key, for people to tell keys apart: its kind, and of keys that the service made six more.'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`COMMENT ON COLUMN api_keys.prefix IS
      'The first characters of the key, for people to tell keys apart.'`);
    await runner.query(`ALTER TABLE api_keys DROP last_used_at`);
  }
}
