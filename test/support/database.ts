import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { DataSource, type MigrationInterface } from 'typeorm';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { migrate } from '../../src/database/migrate.js';
import { applySessionSettings } from '../../src/database/session-settings.js';
import { Database } from '../../src/database/transaction.js';
import { asService } from './app-role.js';

export interface TestDatabase {
  /** Of the owner of the tables, for whom there is no row security. */
  readonly url: string;
  readonly database: Database;
  /** As the service has it, whose role owns nothing. */
  readonly secured: Database;
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
  const servers = at || empty ? [admin] : process.env['TEST_SERVERS']!.split(' ');
  await onEach(
    servers,
    `CREATE DATABASE ${name} TEMPLATE ${at || empty ? 'template1' : process.env['TEST_TEMPLATE']}`,
  );
  const url = Object.assign(new URL(admin), { pathname: name }).href;
  if (at) await migrate(url, { lease: 30, appUrl: asService(url) });
  const [owner, service] = [await connect(url, poolSize), await connect(asService(url), poolSize)];
  const database = new Database(owner);
  await database.findManner();
  return {
    url,
    database,
    secured: new Database(service),
    sql: <Row>(text: string, values: unknown[] = []) => owner.query<Row[]>(text, values),
    drop: async () => {
      await Promise.all([owner.destroy(), service.destroy()]);
      await onEach(servers, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

/** A copy on each server of a cluster is one database: Citus tells databases apart by their name. */
async function onEach(servers: readonly string[], sql: string): Promise<void> {
  for (const server of servers) {
    const client = new pg.Client(server);
    await client.connect();
    await client.query(sql).finally(() => client.end());
  }
}

/** With the settings of its role, which belong to one database and are not copied. */
async function connect(url: string, poolSize: number): Promise<DataSource> {
  const options = dataSourceOptions({ url, poolSize }, { entities: [], migrations: [] });
  const dataSource = await new DataSource(options).initialize();
  await applySessionSettings(dataSource, { lease: 30 });
  return dataSource;
}

/**
 * Runs what only an example adds to the schema, and with it that it can be taken back.
 * @param privileges of the service's role on it; in a service of one's own they are a line of `app-role.ts`
 */
export async function addMigrations(
  { url, sql }: TestDatabase,
  migrations: readonly (new () => MigrationInterface)[],
  privileges?: string,
): Promise<void> {
  const options = dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations: [...migrations] });
  const dataSource = await new DataSource(options).initialize();
  await dataSource.runMigrations();
  for (const _ of migrations) await dataSource.undoLastMigration();
  await dataSource.runMigrations();
  await dataSource.destroy();
  if (privileges) await letService(sql, privileges);
}

/** Beside what a migration grants. On a cluster the service is the owner, and needs no leave. */
export async function letService(sql: TestDatabase['sql'], privileges: string): Promise<void> {
  if (!process.env['TEST_CLUSTER_URL']) await sql(`GRANT ${privileges} TO checkout_app`);
}
