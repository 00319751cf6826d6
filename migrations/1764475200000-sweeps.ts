import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When the provider is compared with us next. Of no tenant, as the provider's account is everybody's. */
export class Sweeps1764475200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE sweeps (
        name text COLLATE "C" NOT NULL PRIMARY KEY,
        due_at timestamptz NOT NULL
      );
      INSERT INTO sweeps (name, due_at) VALUES ('payments', now() + interval '1 hour');
      COMMENT ON TABLE sweeps IS 'Comparisons with other systems that are made now and then, by whichever process comes first.';
      COMMENT ON COLUMN sweeps.name IS 'What is compared.';
      COMMENT ON COLUMN sweeps.due_at IS 'When it is compared next; a process that begins moves it ahead, so that no other begins as well.';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE sweeps');
  }
}
