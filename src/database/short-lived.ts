import { DataSource } from 'typeorm';
import { dataSourceOptions } from './data-source.js';
import { Database } from './transaction.js';

/** For commands: one connection to the database at `url`, for as long as `work` takes. */
export async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const options = dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations: [] });
  const database = new Database(new DataSource(options));
  await database.connect();
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
