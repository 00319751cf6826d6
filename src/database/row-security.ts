import { acrossTenants, statement } from './statement.js';

/** What a flight says before it carries out statements about a tenant: the policies compare every row with it. */
export const SET_TENANT = statement('tenant_set', "SELECT set_config('checkout.tenant', $1, true)");

/** In place of a tenant: rows of all of them. No tenant has such an id (a check of `tenants`). */
export const ALL_TENANTS = '*';

/**
 * Whether the rows that this session sees depend on the tenant that it names: it is neither the owner of the tables nor
 * exempt. Before the tables are there it is taken to be so, since naming a tenant in vain does no harm.
 */
export const ROW_SECURITY = acrossTenants(
  statement(
    'row_security',
    `SELECT coalesce(bool_and(row_security_active(oid)), true) AS active, current_user AS role
       FROM pg_class WHERE oid = to_regclass('idempotency_keys')`,
  ),
);

export interface RowSecurity {
  readonly active: boolean;
  readonly role: string;
}
