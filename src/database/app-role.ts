import { addressesOf } from '../config/addresses.js';
import type { Timings } from '../config/timings.js';
import type { TENANT_TABLES } from './distribution.js';
import { applySessionSettings } from './session-settings.js';
import { withDatabase } from './short-lived.js';

/** What the service does to the rows of each table, and no more: a ledger row stays as it was written. */
const PRIVILEGES: Readonly<Record<(typeof TENANT_TABLES)[number], string>> = {
  orders: 'SELECT, INSERT, UPDATE',
  order_items: 'SELECT, INSERT, UPDATE, DELETE',
  charges: 'SELECT, INSERT, UPDATE',
  refunds: 'SELECT, INSERT, UPDATE',
  erasures: 'SELECT, INSERT',
  ledger_entries: 'SELECT, INSERT',
  outbox_messages: 'SELECT, INSERT, UPDATE, DELETE',
  inbox_messages: 'SELECT, INSERT, UPDATE, DELETE',
  reviews: 'SELECT, INSERT, UPDATE',
  idempotency_keys: 'SELECT, INSERT, UPDATE, DELETE',
  tenant_use: 'SELECT, INSERT, UPDATE',
};

const GRANTS = [
  'USAGE ON SCHEMA public',
  ...Object.entries(PRIVILEGES).map(([table, privileges]) => `${privileges} ON ${table}`),
  'SELECT ON tenants',
  'SELECT ON migrations',
  'SELECT, UPDATE ON sweeps',
  'EXECUTE ON FUNCTION tenant_of_api_key',
  'EXECUTE ON FUNCTION mark_api_keys_used',
];

/** What runs statements as the owner of the schema. */
interface Owner {
  query<Row>(sql: string, values?: unknown[]): Promise<Row[]>;
}

/**
 * Lets the role of `appUrl`, as which the service runs, do to the rows what the service does. It owns nothing, so row
 * security holds for it. It is made where there is none, with the password in `appUrl`. Saying so again changes nothing.
 * @throws Error where it cannot be made, or row security would not hold for it
 */
export async function admitAppRole(
  owner: Owner,
  appUrl: string,
  timings: Pick<Timings, 'lease'>,
): Promise<void> {
  const { username, password } = new URL(addressesOf(appUrl)[0]!);
  const role = decodeURIComponent(username);
  await ensureRole(owner, role, decodeURIComponent(password));
  await requireSubject(owner, role);
  for (const grant of GRANTS) await owner.query(await format(owner, `GRANT ${grant} TO %I`, [role]));
  await withDatabase(appUrl, ({ dataSource }) => applySessionSettings(dataSource, timings)).catch(
    (error: Error) => {
      throw new Error(`DATABASE_APP_URL does not let role ${role} in: ${error.message}`, { cause: error });
    },
  );
}

async function ensureRole(owner: Owner, role: string, password: string): Promise<void> {
  const [found] = await owner.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
  if (found) return;
  const create = await format(owner, 'CREATE ROLE %I LOGIN PASSWORD %L', [role, password]);
  await owner.query(create).catch((error: { code?: unknown }) => {
    if (MADE_MEANWHILE.includes(error.code)) return;
    if (error.code !== NOT_ALLOWED) throw error;
    throw new Error(
      `There is no role ${role}, and this one may not make it: CREATE ROLE … LOGIN PASSWORD '…' as an administrator, then migrate again.`,
      { cause: error },
    );
  });
}

/** SQLSTATEs duplicate_object and unique_violation: roles belong to the server, and another database's migration was quicker. */
const MADE_MEANWHILE: readonly unknown[] = ['42710', '23505'];

/** SQLSTATE insufficient_privilege. */
const NOT_ALLOWED = '42501';

async function requireSubject(owner: Owner, role: string): Promise<void> {
  const [found] = await owner.query<{ exempt: boolean }>(EXEMPT, [role]);
  if (found?.exempt)
    throw new Error(
      `Row security does not hold for role ${role}, which is the owner of the tables or a superuser: name another in DATABASE_APP_URL.`,
    );
}

const EXEMPT = `
  SELECT rolsuper OR rolbypassrls OR pg_has_role(rolname, relowner, 'USAGE') AS exempt
    FROM pg_roles, pg_class WHERE rolname = $1 AND pg_class.oid = 'idempotency_keys'::regclass`;

/** Statements that take no parameters, with names and values in them. */
async function format(owner: Owner, template: string, values: readonly string[]): Promise<string> {
  const [made] = await owner.query<{ sql: string }>('SELECT format($1, VARIADIC $2::text[]) AS sql', [
    template,
    values,
  ]);
  return made!.sql;
}
