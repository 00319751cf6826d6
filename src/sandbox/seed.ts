import { DataSource } from 'typeorm';
import { DEMO_API_KEYS } from '../config/published.js';
import { dataSourceOptions } from '../database/data-source.js';
import { Database } from '../database/transaction.js';
import { addApiKey, addTenant } from '../tenancy/api-keys.js';

/** Two tenants, so that one can see that they do not see one another. Their keys are published: sandbox only. */
export const DEMO_TENANTS = [
  { id: 'acme', name: 'Acme', apiKey: DEMO_API_KEYS.acme },
  { id: 'globex', name: 'Globex', apiKey: DEMO_API_KEYS.globex },
] as const;

/** Adds the demo tenants to the database unless they are there. */
export async function seedDemoTenants(url: string, hashSecret: string): Promise<void> {
  const dataSource = new DataSource(
    dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations: [] }),
  );
  await dataSource.initialize();
  try {
    const database = new Database(dataSource);
    for (const tenant of DEMO_TENANTS) {
      await addTenant(database, tenant);
      await addApiKey(database, tenant.id, tenant.apiKey, hashSecret);
    }
  } finally {
    await dataSource.destroy();
  }
}
