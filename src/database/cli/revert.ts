import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../data-source.js';
import { migrations } from '../schema.js';
import { runCommand } from './command.js';

/** Takes back the newest migration. */
await runCommand(async ({ url }) => {
  const dataSource = new DataSource(dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations }));
  await dataSource.initialize();
  try {
    const name = await newestMigration(dataSource);
    if (name) await dataSource.undoLastMigration();
    console.log(name ? `Reverted: ${name}` : 'There is no migration to revert.');
  } finally {
    await dataSource.destroy();
  }
});

async function newestMigration(dataSource: DataSource): Promise<string | undefined> {
  const [{ found } = { found: null }] = await dataSource.query<{ found: string | null }[]>(
    "SELECT to_regclass('migrations') AS found",
  );
  if (!found) return undefined;
  const [newest] = await dataSource.query<{ name: string }[]>(
    'SELECT name FROM migrations ORDER BY id DESC LIMIT 1',
  );
  return newest?.name;
}
