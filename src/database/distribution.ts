/**
 * Where the rows of each table live once data is spread over servers or partitions. Every table of the schema is on one
 * of the two lists; a table that references another comes after it.
 */

/** Small, and read before the tenant is known or for nobody in particular: every server has all of them. */
export const REFERENCE_TABLES = ['tenants', 'api_keys', 'sweeps'] as const;

/** Each row lives where its tenant does, in every table alike, so that a tenant's transaction meets one server. */
export const TENANT_TABLES = [
  'orders',
  'order_items',
  'charges',
  'refunds',
  'erasures',
  'ledger_entries',
  'outbox_messages',
  'inbox_messages',
  'reviews',
  'idempotency_keys',
  'tenant_use',
] as const;

/** The column that says where. */
export const DISTRIBUTION_COLUMN = 'tenant_id';
