import { statement } from './statement.js';

/** What a flight says before it carries out statements about a tenant: the policies compare every row with it. */
export const SET_TENANT = statement('tenant_set', "SELECT set_config('checkout.tenant', $1, true)");

/** In place of a tenant: rows of all of them. No tenant has such an id (a check of `tenants`). */
export const ALL_TENANTS = '*';

/**
 * Whether the rows that this session sees depend on the tenant that it names: it may not act as the owner of the tables,
 * and is no superuser. Whether there are policies yet is not asked: a migration may bring them while the service runs, and
 * a tenant that is named in vain does no harm.
 */
export const ROW_SECURITY = statement(
  'row_security',
  `SELECT NOT (rolsuper OR rolbypassrls OR coalesce(pg_has_role(relowner, 'USAGE'), false)) AS active, rolname AS role
       FROM pg_roles LEFT JOIN pg_class ON pg_class.oid = to_regclass('idempotency_keys')
      WHERE rolname = current_user`,
);

/** What this role may not do and the service does: a migration has brought it, and did not let the role in. */
export const NOT_ADMITTED = statement(
  'row_security_not_admitted',
  `SELECT name FROM unnest($1::text[]) AS name WHERE NOT has_table_privilege(name, 'INSERT')
      UNION ALL
     SELECT name FROM unnest(ARRAY['tenant_of_api_key(bytea)']) AS name WHERE NOT has_function_privilege(name, 'EXECUTE')`,
);

export interface RowSecurity {
  readonly active: boolean;
  readonly role: string;
}
