import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../src/database/data-source.js';
import { Database } from '../src/database/transaction.js';

/** The database as the service has it, for what is measured without a service around it. */
export async function connect(url: string): Promise<Database> {
  const options = dataSourceOptions({ url, poolSize: 10 }, { entities: [], migrations: [] });
  return new Database(await new DataSource(options).initialize());
}
