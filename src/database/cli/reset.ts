import pg from 'pg';
import { migrate } from '../migrate.js';
import { runCommand } from './command.js';

/** Drops everything in the database and builds the schema anew. Every row is lost. */
await runCommand(async ({ url, lease }) => {
  if (process.env['NODE_ENV'] === 'production')
    throw new Error('NODE_ENV is production: a reset would lose every row.');
  const client = new pg.Client(url);
  await client.connect();
  await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  await client.end();
  const names = await migrate(url, { lease });
  console.log(`Reset. Migrated: ${names.join(', ')}`);
});
