import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { DataSource, type MigrationInterface } from 'typeorm';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { migrate } from '../../src/database/migrate.js';
import { applySessionSettings } from '../../src/database/session-settings.js';
import { Database } from '../../src/database/transaction.js';

export interface TestDatabase {
  readonly url: string;
  readonly database: Database;
  /** Plain rows for assertions and for moving time by back-dating. */
  sql<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

/**
 * A database of its own for one test file, copied from the migrated template, or on the server `at` and migrated there.
 * @param empty without the service's schema
 */
export async function createTestDatabase({
  poolSize = 10,
  at,
  empty = false,
}: { poolSize?: number; at?: string; empty?: boolean } = {}): Promise<TestDatabase> {
  const admin = at ?? process.env['TEST_ADMIN_URL'];
  if (!admin) throw new Error('TEST_ADMIN_URL is not set: global-setup has not run');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const adminClient = new pg.Client(admin);
  await adminClient.connect();
  await adminClient.query(
    `CREATE DATABASE ${name} TEMPLATE ${at || empty ? 'template1' : process.env['TEST_TEMPLATE']}`,
  );
  const url = Object.assign(new URL(admin), { pathname: name }).href;
  if (at) await migrate(url, { lease: 30 });
  const dataSource = new DataSource(dataSourceOptions({ url, poolSize }, { entities: [], migrations: [] }));
  await dataSource.initialize();
  await applySessionSettings(dataSource, { lease: 30 });
  return {
    url,
    database: new Database(dataSource),
    sql: <Row>(text: string, values: unknown[] = []) => dataSource.query<Row[]>(text, values),
    drop: async () => {
      await dataSource.destroy();
      await adminClient.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await adminClient.end();
    },
  };
}

/** Runs what only an example adds to the schema, and with it that it can be taken back. */
export async function addMigrations(
  { url }: TestDatabase,
  migrations: readonly (new () => MigrationInterface)[],
): Promise<void> {
  const options = dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations: [...migrations] });
  const dataSource = await new DataSource(options).initialize();
  await dataSource.runMigrations();
  for (const _ of migrations) await dataSource.undoLastMigration();
  await dataSource.runMigrations();
  await dataSource.destroy();
}
