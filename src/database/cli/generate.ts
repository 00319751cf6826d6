import { readFile, writeFile } from 'node:fs/promises';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../data-source.js';
import { migrate } from '../migrate.js';
import { entities } from '../schema.js';
import { runCommand } from './command.js';
import { migrationFile, registered, type Difference } from './migration-file.js';

const SCHEMA = 'src/database/schema.ts';

/**
 * Writes a new migration from the difference between the entities and the schema, or an empty one to fill in, and
 * lists it in schema.ts. A draft: what TypeORM proposes knows no column comments and no checks.
 */
await runCommand(async ({ url, lease }) => {
  await migrate(url, { lease }); // the difference to an older schema would repeat what is there already
  const { path, className, source } = migrationFile(
    process.argv[2] ?? 'change',
    Date.now(),
    await difference(url),
  );
  await writeFile(path, source, { flag: 'wx' });
  await writeFile(SCHEMA, registered(await readFile(SCHEMA, 'utf8'), className, path));
  console.log(`Wrote ${path} and listed it in ${SCHEMA}. Review it, then: npm run db:migrate`);
});

async function difference(url: string): Promise<Difference> {
  const dataSource = new DataSource(dataSourceOptions({ url, poolSize: 1 }, { entities, migrations: [] }));
  await dataSource.initialize();
  try {
    const { upQueries, downQueries } = await dataSource.driver.createSchemaBuilder().log();
    return { up: upQueries.map(({ query }) => query), down: downQueries.map(({ query }) => query).reverse() };
  } finally {
    await dataSource.destroy();
  }
}
