import { createHmac } from 'node:crypto';
import { statement } from '../database/statement.js';
import type { Database } from '../database/transaction.js';
import { prefixOf } from './new-api-key.js';
import type { Tenant } from './tenant.js';

/**
 * What is stored of a key: enough to recognise it, too little to use it. Keys are random, so there is nothing to guess
 * that a slow hash would protect. It is looked up by an index, and not compared in constant time: how long
 * that takes may tell of the hash, which nobody can work towards who does not have the secret.
 */
export function hashApiKey(key: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(key).digest();
}

/** @returns undefined where the key is unknown or revoked */
export async function findTenantByApiKey(database: Database, hash: Buffer): Promise<Tenant | undefined> {
  const [row] = await database.query<{ tenant_id: string }>(FIND_TENANT, [hash]);
  return row && { id: row.tenant_id };
}

/** Adding the same tenant again changes nothing, so that a seed can be run at every start. */
export async function addTenant(database: Database, tenant: { id: string; name: string }): Promise<void> {
  await database.query(ADD_TENANT, [tenant.id, tenant.name]);
}

/** Lets `key` speak for the tenant from now on. Adding it again changes nothing. */
export async function addApiKey(
  database: Database,
  tenantId: string,
  key: string,
  secret: string,
): Promise<void> {
  await database.query(ADD_API_KEY, [hashApiKey(key, secret), tenantId, prefixOf(key)]);
}

/** @returns false where there is such a tenant already; nothing is added then */
export async function addTenantWithKey(
  database: Database,
  tenant: { id: string; name: string },
  key: string,
  secret: string,
): Promise<boolean> {
  const values = [tenant.id, tenant.name, hashApiKey(key, secret), prefixOf(key)];
  const added = await database.query(ADD_TENANT_WITH_KEY, values);
  return added.length === 1;
}

const FIND_TENANT = statement(
  'tenant_find_by_api_key',
  'SELECT tenant_id FROM tenant_of_api_key($1) AS tenant_id WHERE tenant_id IS NOT NULL',
);
const ADD_TENANT = statement(
  'tenant_add',
  'INSERT INTO tenants (id, name) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING',
);
const ADD_TENANT_WITH_KEY = statement(
  'tenant_add_with_key',
  `WITH tenant AS (INSERT INTO tenants (id, name) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING RETURNING id)
   INSERT INTO api_keys (hash, tenant_id, prefix) SELECT $3, id, $4 FROM tenant RETURNING 1`,
);
const ADD_API_KEY = statement(
  'api_key_add',
  'INSERT INTO api_keys (hash, tenant_id, prefix) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING',
);
