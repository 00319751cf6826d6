import { readEnvironment, type Environment, type Role } from './environment.js';
import { listOf } from './list-of.js';
import { unsafeInProduction } from './production.js';
import { sealingKeysOf, type SealingKeys } from './sealing-keys.js';
import { timingsOf, type Timings } from './timings.js';

/** Everything the service was told, checked and typed; an abstract class, so that it is also its Nest token. */
export abstract class Config {
  abstract readonly production: boolean;
  abstract readonly role: Role;
  abstract readonly host: string;
  abstract readonly port: number;
  abstract readonly workerPort: number;
  abstract readonly logLevel: string;
  abstract readonly database: {
    readonly url: string;
    readonly poolSize: number;
    /** Not where a pooler stands before it that gives a session to one client after the other. */
    readonly preparedStatements: boolean;
  };
  abstract readonly provider: {
    readonly url: URL;
    readonly apiKey: string;
    readonly webhookSecrets: readonly string[];
    /** After so many calls in a row that failed, it is let alone, but for one call in so many seconds. */
    readonly breaker: { readonly failures: number; readonly openSeconds: number };
  };
  /** Where customers come back to after an authentication at their bank. */
  abstract readonly paymentReturnUrl: string;
  /** Begins every derived key. */
  abstract readonly keyPrefix: string;
  /** How long the provider remembers a derived key. */
  abstract readonly keyWindowHours: number;
  abstract readonly mail: { readonly smtpUrl: string; readonly from: string };
  /** Where events are published; undefined: there are none. */
  abstract readonly amqpUrl: string | undefined;
  abstract readonly hashSecret: string;
  /** Seal what clients sent and were answered; undefined: it is stored plain. */
  abstract readonly sealing: SealingKeys | undefined;
  abstract readonly operatorTokens: readonly string[];
  /** What may read the metrics; empty: whoever reaches the port. */
  abstract readonly metricsToken: string;
  /** 0: as many as come. */
  abstract readonly tenantRequestsPerSecond: number;
  abstract readonly addressRequestsPerSecond: number;
  /** The proxies that are believed when they say where a request comes from, by their addresses. */
  abstract readonly trustProxy: string | false;
  abstract readonly retentionHours: number;
  /** Tries of the completer that speak against a key, until a person is asked. */
  abstract readonly completerMaxTries: number;
  /** What becomes of a checkout whose client has gone for good: it is finished, or undone. */
  abstract readonly abandonedCheckouts: 'finish' | 'void';
  abstract readonly outboxRetentionDays: number;
  abstract readonly inboxRetentionDays: number;
  /** How long a customer has to authenticate a payment before it is canceled. */
  abstract readonly openChargeHours: number;
  abstract readonly timings: Timings;
  abstract readonly commitEveryPhase: boolean;
  abstract readonly faults: boolean;
}

/** Thrown by `loadConfig` with every wrong name in one message, so that one restart mends them all. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/** Reads and checks the environment. The only reader of `process.env` in the service. @throws ConfigError */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const { settings, problems } = readEnvironment(env);
  const timings = scaleTimings(settings);
  const all = [...problems, ...outOfOrder(timings), ...unsafeInProduction(settings)];
  if (all.length > 0) throw new ConfigError(all);
  return toConfig(settings, timings);
}

/** What a command needs that makes API keys. */
export interface Hashing {
  readonly hashSecret: string;
  readonly production: boolean;
}

/** For where the rest of the service's settings need not be known; by the same rules. @throws ConfigError */
export function loadHashing(env: NodeJS.ProcessEnv = process.env): Hashing {
  const { settings, problems } = readEnvironment(env);
  const ofThese = [...problems, ...unsafeInProduction(settings)].filter((problem) =>
    /^(HASH_SECRET|NODE_ENV)\b/.test(problem),
  );
  if (ofThese.length > 0) throw new ConfigError(ofThese);
  return { hashSecret: settings.HASH_SECRET, production: settings.NODE_ENV === 'production' };
}

function scaleTimings(settings: Environment): Timings {
  return timingsOf(settings.IDEMPOTENCY_LEASE_SECONDS, {
    providerTimeout: settings.PROVIDER_TIMEOUT_SECONDS,
    requestDeadline: settings.REQUEST_DEADLINE_SECONDS,
    maximumHold: settings.IDEMPOTENCY_MAX_HOLD_SECONDS,
    completerGrace: settings.COMPLETER_GRACE_SECONDS,
  });
}

function outOfOrder({
  providerTimeout,
  requestDeadline,
  lease,
  maximumHold,
  completerGrace,
}: Timings): string[] {
  const ordered: [shorter: string, seconds: number, longer: string, seconds: number][] = [
    ['PROVIDER_TIMEOUT_SECONDS', providerTimeout, 'REQUEST_DEADLINE_SECONDS', requestDeadline],
    ['REQUEST_DEADLINE_SECONDS', requestDeadline, 'IDEMPOTENCY_LEASE_SECONDS', lease],
    ['IDEMPOTENCY_LEASE_SECONDS', lease, 'IDEMPOTENCY_MAX_HOLD_SECONDS', maximumHold],
    ['IDEMPOTENCY_LEASE_SECONDS', lease, 'COMPLETER_GRACE_SECONDS', completerGrace],
  ];
  return ordered
    .filter(([, less, , more]) => less >= more) // a time that is no number has its own problem already
    .map(([shorter, less, longer, more]) => `${shorter} (${less}) must be below ${longer} (${more})`);
}

function toConfig(settings: Environment, timings: Timings): Config {
  return {
    production: settings.NODE_ENV === 'production',
    role: settings.ROLE,
    host: settings.HOST,
    port: settings.PORT,
    workerPort: settings.WORKER_PORT ?? (settings.PORT === 0 ? 0 : settings.PORT + 1),
    logLevel: settings.LOG_LEVEL,
    database: {
      url: settings.DATABASE_URL,
      poolSize: settings.DATABASE_POOL_SIZE,
      preparedStatements: settings.PREPARED_STATEMENTS,
    },
    provider: {
      url: new URL(settings.STRIPE_API_URL),
      apiKey: settings.STRIPE_API_KEY,
      webhookSecrets: listOf(settings.STRIPE_WEBHOOK_SECRETS),
      breaker: {
        failures: settings.PROVIDER_BREAKER_FAILURES,
        openSeconds: settings.PROVIDER_BREAKER_SECONDS,
      },
    },
    paymentReturnUrl: settings.PAYMENT_RETURN_URL,
    keyPrefix: settings.PROVIDER_KEY_PREFIX,
    keyWindowHours: settings.PROVIDER_KEY_WINDOW_HOURS,
    mail: { smtpUrl: settings.SMTP_URL, from: settings.MAIL_FROM },
    amqpUrl: settings.AMQP_URL,
    hashSecret: settings.HASH_SECRET,
    sealing: sealingKeysOf(settings.SEALING_KEYS),
    operatorTokens: listOf(settings.OPERATOR_TOKENS),
    metricsToken: settings.METRICS_TOKEN,
    tenantRequestsPerSecond: settings.TENANT_REQUESTS_PER_SECOND,
    addressRequestsPerSecond: settings.ADDRESS_REQUESTS_PER_SECOND,
    trustProxy: settings.TRUST_PROXY || false,
    retentionHours: settings.IDEMPOTENCY_RETENTION_HOURS,
    completerMaxTries: settings.COMPLETER_MAX_TRIES,
    abandonedCheckouts: settings.ABANDONED_CHECKOUTS,
    outboxRetentionDays: settings.OUTBOX_RETENTION_DAYS,
    inboxRetentionDays: settings.INBOX_RETENTION_DAYS,
    openChargeHours: settings.OPEN_CHARGE_HOURS,
    timings,
    commitEveryPhase: settings.COMMIT_EVERY_PHASE,
    faults: settings.FAULTS,
  };
}
