import { requireAppRole } from '../app-role.js';
import { migrate } from '../migrate.js';
import { changeSchema } from '../schema-change.js';
import { runCommand } from './command.js';

/** Drops every table in the database and builds the schema anew. Every row is lost. */
await runCommand(async ({ url, ...target }) => {
  if (process.env['NODE_ENV'] === 'production')
    throw new Error('NODE_ENV is production: a reset would lose every row.');
  await changeSchema(url, async (runner) => {
    if (!target.appUrl) await requireAppRole(runner); // its grants go with the tables
    await runner.clearDatabase();
  });
  const names = await migrate(url, target);
  console.log(`Reset. Migrated: ${names.join(', ')}`);
});
