import { DEMO_API_KEYS } from '../config/published.js';
import { withDatabase } from '../database/short-lived.js';
import { addApiKey, addTenant } from '../tenancy/api-keys.js';

/** Two tenants, so that one can see that they do not see one another. Their keys are published: sandbox only. */
export const DEMO_TENANTS = [
  { id: 'acme', name: 'Acme', apiKey: DEMO_API_KEYS.acme },
  { id: 'globex', name: 'Globex', apiKey: DEMO_API_KEYS.globex },
] as const;

/** Adds the demo tenants to the database unless they are there. */
export async function seedDemoTenants(url: string, hashSecret: string): Promise<void> {
  await withDatabase(url, async (database) => {
    for (const tenant of DEMO_TENANTS) {
      await addTenant(database, tenant);
      await addApiKey(database, tenant.id, tenant.apiKey, hashSecret);
    }
  });
}
