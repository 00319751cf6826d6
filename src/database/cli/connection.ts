import pg from 'pg';
import { addressesOf } from '../../config/addresses.js';
import { NoPrimary, Primary } from '../primary.js';

/** Long enough for a server across a slow network, short enough for a person who waits. */
const CONNECT_WITHIN_MS = 5_000;

/** @throws Error with one sentence that says why the database at `url` cannot be used, without its password */
export async function requireReachable(url: string): Promise<void> {
  const addresses = requireAddresses(url);
  try {
    await (addresses.length > 1 ? new Primary(addresses).find(CONNECT_WITHIN_MS) : connectOnce(url));
  } catch (error) {
    throw new Error(
      `DATABASE_URL does not lead to a database: ${explain(error, new URL(addresses[0]!))}. Set DATABASE_URL to a PostgreSQL that answers.`,
      { cause: error },
    );
  }
}

async function connectOnce(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: CONNECT_WITHIN_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** @throws Error with one sentence that says what the setting `name` should be like */
export function requireAddresses(url: string, name = 'DATABASE_URL'): string[] {
  const addresses = addressesOf(url);
  if (addresses.every((each) => /^postgres(ql)?:\/\//.test(each) && URL.canParse(each))) return addresses;
  throw new Error(
    `${name} is not the address of a database: set ${name} to something like postgres://user:password@host:5432/name.`,
  );
}

function explain(error: unknown, { host, hostname, pathname, username }: URL): string {
  if (error instanceof NoPrimary) return error.message;
  const { code, message } = error as { code?: string; message?: string };
  switch (code) {
    case 'ECONNREFUSED':
      return `nothing listens on ${host}`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `there is no host ${hostname}`;
    case '28P01':
    case '28000':
      return `${host} does not let ${username || 'this user'} in`;
    case '3D000':
      return `${host} has no database ${pathname.slice(1)}`;
    default:
      return `${host} does not answer as a PostgreSQL (${message})`;
  }
}
