import { requireAddresses, requireReachable } from './connection.js';

/** What a command on the schema needs to know. */
export interface Target {
  readonly url: string;
  /** Seconds; the session timeouts of the database follow from it. */
  readonly lease: number;
  /** Of the role that the service runs as, where it is not the owner of the tables. */
  readonly appUrl: string | undefined;
}

/**
 * Runs one command against the database that DATABASE_URL names. Migrations run where the rest of the service's
 * settings are not known (a one-shot container, a pipeline), so no more of the environment is asked for than this.
 */
export async function runCommand(command: (target: Target) => Promise<void>): Promise<void> {
  try {
    const target = readTarget();
    await requireReachable(target.url);
    if (target.appUrl) requireAccount(target.appUrl);
    await command(target);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1); // a connection that failed half-way may be open still
  }
}

function readTarget(): Target {
  const { DATABASE_URL: url, DATABASE_APP_URL: appUrl, IDEMPOTENCY_LEASE_SECONDS: lease } = process.env;
  if (!url) throw new Error('DATABASE_URL is not set: set it to the database that is meant.');
  return { url, lease: Number(lease || 30), appUrl: appUrl || undefined };
}

function requireAccount(appUrl: string): void {
  const [address] = requireAddresses(appUrl, 'DATABASE_APP_URL');
  if (new URL(address!).username === '')
    throw new Error('DATABASE_APP_URL names no user: it is the role that the service runs as.');
}
