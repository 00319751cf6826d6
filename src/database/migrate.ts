import { DataSource } from 'typeorm';
import type { Timings } from '../config/timings.js';
import { dataSourceOptions } from './data-source.js';
import { migrations } from './schema.js';
import { applySessionSettings } from './session-settings.js';

/** Brings the database at `url` to the newest schema and sets the session timeouts of its role. */
export async function migrate(url: string, timings: Pick<Timings, 'lease'>): Promise<string[]> {
  const dataSource = new DataSource(dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations }));
  await dataSource.initialize();
  try {
    const run = await dataSource.runMigrations();
    await applySessionSettings(dataSource, timings);
    return run.map(({ name }) => name);
  } finally {
    await dataSource.destroy();
  }
}
