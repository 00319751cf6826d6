import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the application had before. */
export class Bookings1764500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE teams (
        id text COLLATE "C" NOT NULL PRIMARY KEY,
        token text NOT NULL UNIQUE
      );
      CREATE TABLE bookings (
        team_id text COLLATE "C" NOT NULL REFERENCES teams (id),
        desk text NOT NULL,
        day date NOT NULL,
        code text,
        PRIMARY KEY (team_id, desk, day)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE bookings, teams');
  }
}
