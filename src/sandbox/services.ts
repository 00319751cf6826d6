import {
  SANDBOX_OPERATOR_TOKEN,
  SANDBOX_PROVIDER_KEY,
  SANDBOX_SECRET,
  SANDBOX_WEBHOOK_SECRET,
} from '../config/published.js';
import type { DatabaseUrls } from './embedded-database.js';
import { HOST, type Ports, type SandboxSettings } from './settings.js';
import type { Service } from './supervised-process.js';

/** The addresses that people use. */
export function urlsOn(ports: Ports) {
  return {
    api: `http://${HOST}:${ports.PORT}`,
    worker: `http://${HOST}:${ports.WORKER_PORT}`,
    provider: `http://${HOST}:${ports.PROVIDER_PORT}`,
    mailbox: `http://${HOST}:${ports.MAILBOX_PORT}`,
    smtp: `smtp://${HOST}:${ports.SMTP_PORT}`,
    lab: `http://${HOST}:${ports.LAB_PORT}`,
  };
}

/** What a laptop runs in place of a payment provider and a mail server, and the service itself in its two roles. */
export function servicesOn(ports: Ports, env: NodeJS.ProcessEnv) {
  const urls = urlsOn(ports);
  const main = '../main.js';
  // The name that PostgreSQL knows the process by: whoever looks at its sessions can tell the two apart.
  const databaseUrl = env['DATABASE_APP_URL'] || env['DATABASE_URL'];
  const roleOf = (role: string) => ({ ...env, DATABASE_URL: databaseUrl, ROLE: role, PGAPPNAME: role });
  return {
    provider: {
      name: 'provider',
      entry: './mock-provider/main.js',
      env,
      readyUrl: `${urls.provider}/_ledger`,
    },
    mailbox: { name: 'mailbox', entry: './mailbox/main.js', env, readyUrl: `${urls.mailbox}/messages` },
    api: { name: 'api', entry: main, env: roleOf('api'), readyUrl: `${urls.api}/health/ready` },
    worker: {
      name: 'worker',
      entry: main,
      env: roleOf('worker'),
      readyUrl: `${urls.worker}/health/ready`,
    },
  } satisfies Record<string, Service>;
}

export interface SandboxEnvironment extends NodeJS.ProcessEnv {
  readonly DATABASE_URL: string;
  /** As whom the service runs, where that is not the owner of the tables. */
  readonly DATABASE_APP_URL?: string;
  readonly HASH_SECRET: string;
  readonly IDEMPOTENCY_LEASE_SECONDS: string;
}

/** Defaults first, then what the caller set, then what makes the processes one system. */
export function environmentOf(
  { env, ports, dataDir }: SandboxSettings,
  database: DatabaseUrls,
): SandboxEnvironment {
  const urls = urlsOn(ports);
  return {
    HASH_SECRET: SANDBOX_SECRET,
    OPERATOR_TOKENS: SANDBOX_OPERATOR_TOKEN,
    FAULTS: 'on',
    // Short, so that a person who breaks something does not wait half a minute to see it mended.
    IDEMPOTENCY_LEASE_SECONDS: '5',
    ...(database.app && { DATABASE_APP_URL: database.app }),
    COMPLETER_GRACE_SECONDS: '10',
    ...withoutEmpty(env),
    NODE_ENV: 'development',
    HOST,
    ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)])),
    DATA_DIR: dataDir,
    DATABASE_URL: database.owner,
    STRIPE_API_URL: urls.provider,
    STRIPE_API_KEY: SANDBOX_PROVIDER_KEY,
    PROVIDER_KEY_PREFIX: 'sandbox',
    SMTP_URL: urls.smtp,
    STRIPE_WEBHOOK_SECRETS: SANDBOX_WEBHOOK_SECRET,
    PROVIDER_WEBHOOK_URL: `${urls.api}/v1/webhooks/payments`,
    PROVIDER_WEBHOOK_SECRET: SANDBOX_WEBHOOK_SECRET,
  };
}

function withoutEmpty(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}
