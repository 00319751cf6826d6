import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../data-source.js';
import { migrate } from '../migrate.js';
import { runCommand } from './command.js';

/** Drops every table in the database and builds the schema anew. Every row is lost. */
await runCommand(async ({ url, lease }) => {
  if (process.env['NODE_ENV'] === 'production')
    throw new Error('NODE_ENV is production: a reset would lose every row.');
  const dataSource = new DataSource(
    dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations: [] }),
  );
  await dataSource.initialize();
  await dataSource.dropDatabase().finally(() => dataSource.destroy());
  const names = await migrate(url, { lease });
  console.log(`Reset. Migrated: ${names.join(', ')}`);
});
