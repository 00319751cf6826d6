import { migrate } from '../migrate.js';
import { runCommand } from './command.js';

/** Brings the database that DATABASE_URL names to the newest schema; with nothing to do it changes nothing. */
await runCommand(async ({ url, ...target }) => {
  const names = await migrate(url, target);
  console.log(names.length > 0 ? `Migrated: ${names.join(', ')}` : 'The schema is up to date.');
});
