import { changeSchema } from '../schema-change.js';
import { runCommand } from './command.js';

/** Takes back the newest migration. */
await runCommand(async ({ url }) => {
  const name = await changeSchema(url, async (_runner, executor) => {
    const [newest] = (await executor.getExecutedMigrations()).sort((one, other) => other.id! - one.id!);
    if (newest) await executor.undoLastMigration();
    return newest?.name;
  });
  console.log(name ? `Reverted: ${name}` : 'There is no migration to revert.');
});
