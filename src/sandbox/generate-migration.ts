import { readFile, writeFile } from 'node:fs/promises';
import { DataSource } from 'typeorm';
import { ENTITIES } from '../app.module.js';
import { runCommand } from '../database/cli/command.js';
import { dataSourceOptions } from '../database/data-source.js';
import { migrate } from '../database/migrate.js';
import { migrationFile, registered, type Difference } from './migration-file.js';

const SCHEMA = 'src/database/schema.ts';
const ADDS = /^CREATE TABLE|^ALTER TABLE "\w+" ADD "/;
const TAKES_BACK = /^DROP TABLE|^ALTER TABLE "\w+" DROP COLUMN/;

/**
 * Writes a new migration with what the entities have and the schema has not, or an empty one to fill in, and lists
 * it in schema.ts. A draft, for a person to complete: entities know no checks and no comments.
 */
await runCommand(async ({ url, ...target }) => {
  await migrate(url, target); // against an older schema, it would repeat what other migrations bring
  const { path, className, source } = migrationFile(
    process.argv[2] ?? 'change',
    Date.now(),
    await additions(url),
  );
  await writeFile(path, source, { flag: 'wx' });
  await writeFile(SCHEMA, registered(await readFile(SCHEMA, 'utf8'), className, path));
  console.log(`Wrote ${path} and listed it in ${SCHEMA}. Review it, then: npm run db:migrate`);
});

/**
 * Of TypeORM's proposal only new tables and columns. The migrations are the truth, the entities a view of it: taken
 * whole, the proposal would drop every check, comment and partial index, the guards of the money among them.
 */
async function additions(url: string): Promise<Difference> {
  const dataSource = new DataSource(
    dataSourceOptions({ url, poolSize: 1 }, { entities: ENTITIES, migrations: [] }),
  );
  await dataSource.initialize();
  try {
    const { upQueries, downQueries } = await dataSource.driver.createSchemaBuilder().log();
    const up = upQueries.map(({ query }) => query).filter((sql) => ADDS.test(sql));
    const down = downQueries.map(({ query }) => query).filter((sql) => TAKES_BACK.test(sql));
    return { up, down: down.reverse() };
  } finally {
    await dataSource.destroy();
  }
}
