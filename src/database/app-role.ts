import { addressesOf } from '../config/addresses.js';
import type { Timings } from '../config/timings.js';
import { REFERENCE_TABLES, TENANT_TABLES } from './distribution.js';
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
  'SELECT, UPDATE ON sweeps',
  'EXECUTE ON FUNCTION tenant_of_api_key',
  'EXECUTE ON FUNCTION mark_api_keys_used',
];

/** What runs statements as the owner of the schema. */
interface Owner {
  query<Row>(sql: string, values?: unknown[]): Promise<Row[]>;
}

const TABLES = [...TENANT_TABLES, ...REFERENCE_TABLES, 'migrations'].join(', ');

/**
 * Lets the role of `appUrl`, as which the service runs, do to the rows what the service does, and nothing that it might
 * have been granted before. It owns nothing, so row security holds for it. It is made where there is none, with the
 * password in `appUrl`. Saying so again changes nothing.
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
  const name = await format(owner, '%I', [role]);
  const grants = GRANTS.map((grant) => `GRANT ${grant} TO ${name}`);
  await owner.query([`REVOKE ALL ON ${TABLES} FROM ${name}`, ...grants].join(';\n')); // one transaction: the service may be at work
  const here = await serverOf(owner);
  await withDatabase(appUrl, async ({ dataSource }) => {
    if ((await serverOf(dataSource)) !== here) throw new Error('it names another database than DATABASE_URL');
    await applySessionSettings(dataSource, timings); // a role may say so of itself
  }).catch((error: Error) => {
    throw new Error(`DATABASE_APP_URL does not let role ${role} in: ${error.message}`, { cause: error });
  });
}

/**
 * Whoever forgets the role takes the service down with what a migration brings.
 * @throws Error where a role was let in before, and is not named now
 */
export async function requireAppRole(owner: Owner): Promise<void> {
  const [found] = await owner.query<{ role: string }>(ADMITTED);
  if (found)
    throw new Error(
      `The service runs as role ${found.role} here: set DATABASE_APP_URL to its URL, so that it may use what is migrated.`,
    );
}

const ADMITTED = `
  SELECT grantee::regrole::text AS role FROM pg_class, aclexplode(relacl)
   WHERE pg_class.oid = to_regclass('idempotency_keys') AND privilege_type = 'INSERT' AND grantee NOT IN (0, relowner) LIMIT 1`;

async function ensureRole(owner: Owner, role: string, password: string): Promise<void> {
  const [found] = await owner.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
  if (found) return;
  if (password === '')
    throw new Error(`DATABASE_APP_URL has no password, which role ${role} is to be made with.`);
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
      `Row security does not hold for role ${role}, which is a superuser, sees all data, or may act as the owner of the tables: name another in DATABASE_APP_URL.`,
    );
}

/** As MEMBER, and not as USAGE: what it does not inherit, it may take on by SET ROLE. */
const EXEMPT = `
  SELECT rolsuper OR rolbypassrls OR rolname = current_user OR pg_has_role(rolname, relowner, 'MEMBER')
         OR pg_has_role(rolname, 'pg_read_all_data', 'MEMBER') OR pg_has_role(rolname, 'pg_write_all_data', 'MEMBER') AS exempt
    FROM pg_roles, pg_class WHERE rolname = $1 AND pg_class.oid = 'idempotency_keys'::regclass`;

/** Which database of which server it is. */
async function serverOf(database: Pick<Owner, 'query'>): Promise<string> {
  const [found] = await database.query<{ server: string }>(
    "SELECT current_database() || ' since ' || pg_postmaster_start_time() AS server",
  );
  return found!.server;
}

/** Statements that take no parameters, with names and values in them. */
async function format(owner: Owner, template: string, values: readonly string[]): Promise<string> {
  const [made] = await owner.query<{ sql: string }>('SELECT format($1, VARIADIC $2::text[]) AS sql', [
    template,
    values,
  ]);
  return made!.sql;
}
