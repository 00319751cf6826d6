import { plainToInstance, Transform } from 'class-transformer';
import {
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  MinLength,
  validateSync,
  type ValidationError,
} from 'class-validator';

export type Role = 'api' | 'worker' | 'all';

/** The secret that the sandbox and the tests use. Anything else must bring its own. */
export const SANDBOX_SECRET = 'sandbox-only-secret-do-not-use-anywhere-else';

const Integer = () => Transform(({ value }) => (value === undefined ? undefined : Number(value)));
const Flag = () => Transform(({ value }) => value === 'true' || value === 'on' || value === true);

/**
 * What the environment may say, name by name. `.env.example` lists the same names; a test compares the two.
 * Times of the lease family are optional: left out, they scale with the lease (see `Timings`).
 */
export class Environment {
  @IsIn(['development', 'test', 'production']) NODE_ENV = 'development';
  @IsIn(['api', 'worker', 'all']) ROLE: Role = 'all';
  @IsString() HOST = '0.0.0.0';
  @Integer() @IsInt() @Min(0) @Max(65535) PORT = 3000;
  @IsOptional() @Integer() @IsInt() @Min(0) @Max(65535) WORKER_PORT?: number;
  @IsString() LOG_LEVEL = 'info';

  @Matches(/^postgres(ql)?:\/\//, {
    message: 'DATABASE_URL must look like postgres://user:password@host:5432/name',
  })
  DATABASE_URL!: string;
  @Integer() @IsInt() @Min(1) @Max(500) DATABASE_POOL_SIZE = 10;

  @Matches(/^https?:\/\//, { message: 'STRIPE_API_URL must be a URL such as https://api.stripe.com' })
  STRIPE_API_URL!: string;
  @IsString() @MinLength(1) STRIPE_API_KEY!: string;
  @IsString() STRIPE_WEBHOOK_SECRETS = '';
  @Matches(/^[a-z0-9_-]{1,32}$/, { message: 'PROVIDER_KEY_PREFIX must be 1 to 32 of a-z, 0-9, _ and -' })
  PROVIDER_KEY_PREFIX!: string;

  @Matches(/^smtps?:\/\//, { message: 'SMTP_URL must look like smtp://host:1025' }) SMTP_URL!: string;
  @IsString() MAIL_FROM = 'Checkout <receipts@example.com>';

  @IsString()
  @MinLength(32, { message: 'HASH_SECRET must have at least 32 characters: it keys the hashes of API keys' })
  HASH_SECRET!: string;

  @Integer() @IsInt() @Min(24) @Max(24 * 365) IDEMPOTENCY_RETENTION_HOURS = 72;
  @Integer() @IsInt() @Min(3) @Max(600) IDEMPOTENCY_LEASE_SECONDS = 30;
  @IsOptional() @Integer() @Min(0.05) PROVIDER_TIMEOUT_SECONDS?: number;
  @IsOptional() @Integer() @Min(0.1) REQUEST_DEADLINE_SECONDS?: number;
  @IsOptional() @Integer() @Min(1) IDEMPOTENCY_MAX_HOLD_SECONDS?: number;
  @IsOptional() @Integer() @Min(1) COMPLETER_GRACE_SECONDS?: number;
  @Integer() @IsInt() @Min(1) PROVIDER_KEY_WINDOW_HOURS = 24;

  @Flag() @IsBoolean() COMMIT_EVERY_PHASE = false;
  @Flag() @IsBoolean() FAULTS = false;
}

/**
 * The times that hang together, in seconds: each must be shorter than the next, or two owners could act at once.
 * A provider call ends before the request gives up, the request before its lease, the lease before its maximum
 * hold, and the completer waits longest, because a client that retries should always come first.
 */
export interface Timings {
  readonly providerTimeout: number;
  readonly requestDeadline: number;
  readonly lease: number;
  readonly maximumHold: number;
  readonly completerGrace: number;
}

/** Everything the service was told, checked and typed; an abstract class, so that it is also its Nest token. */
export abstract class Config {
  abstract readonly production: boolean;
  abstract readonly role: Role;
  abstract readonly host: string;
  abstract readonly port: number;
  abstract readonly workerPort: number;
  abstract readonly logLevel: string;
  abstract readonly database: { readonly url: string; readonly poolSize: number };
  abstract readonly provider: {
    readonly url: URL;
    readonly apiKey: string;
    readonly webhookSecrets: readonly string[];
    readonly keyPrefix: string;
    readonly keyWindowHours: number;
  };
  abstract readonly mail: { readonly smtpUrl: string; readonly from: string };
  abstract readonly hashSecret: string;
  abstract readonly retentionHours: number;
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
  const settings = parse(env);
  const timings = scaleTimings(settings);
  const problems = [...outOfOrder(timings), ...unsafeInProduction(settings)];
  if (problems.length > 0) throw new ConfigError(problems);
  return toConfig(settings, timings);
}

function parse(env: NodeJS.ProcessEnv): Environment {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const settings = plainToInstance(Environment, given, { exposeDefaultValues: true });
  const errors = validateSync(settings, { forbidUnknownValues: false });
  if (errors.length > 0) throw new ConfigError(errors.map(describe));
  return settings;
}

function describe({ property, value, constraints = {} }: ValidationError): string {
  return value === undefined ? `${property} is not set` : Object.values(constraints).join('; ');
}

function scaleTimings(settings: Environment): Timings {
  const lease = settings.IDEMPOTENCY_LEASE_SECONDS;
  return {
    providerTimeout: settings.PROVIDER_TIMEOUT_SECONDS ?? lease / 3,
    requestDeadline: settings.REQUEST_DEADLINE_SECONDS ?? (lease * 5) / 6,
    lease,
    maximumHold: settings.IDEMPOTENCY_MAX_HOLD_SECONDS ?? lease * 4,
    completerGrace: settings.COMPLETER_GRACE_SECONDS ?? lease * 10,
  };
}

function outOfOrder(timings: Timings): string[] {
  const chain: [name: string, seconds: number][] = [
    ['PROVIDER_TIMEOUT_SECONDS', timings.providerTimeout],
    ['REQUEST_DEADLINE_SECONDS', timings.requestDeadline],
    ['IDEMPOTENCY_LEASE_SECONDS', timings.lease],
    ['IDEMPOTENCY_MAX_HOLD_SECONDS', timings.maximumHold],
  ];
  const problems = chain.slice(1).flatMap(([name, seconds], index) => {
    const [shorter, shorterSeconds] = chain[index]!;
    return shorterSeconds < seconds
      ? []
      : [`${shorter} (${shorterSeconds}) must be below ${name} (${seconds})`];
  });
  return timings.lease < timings.completerGrace
    ? problems
    : [
        ...problems,
        `COMPLETER_GRACE_SECONDS (${timings.completerGrace}) must be above the lease (${timings.lease})`,
      ];
}

function unsafeInProduction(settings: Environment): string[] {
  if (settings.NODE_ENV !== 'production') return [];
  return [
    ...(settings.FAULTS ? ['FAULTS must be off when NODE_ENV=production'] : []),
    ...(settings.HASH_SECRET === SANDBOX_SECRET
      ? ["HASH_SECRET is the sandbox's: set one of your own when NODE_ENV=production"]
      : []),
  ];
}

function toConfig(settings: Environment, timings: Timings): Config {
  return {
    production: settings.NODE_ENV === 'production',
    role: settings.ROLE,
    host: settings.HOST,
    port: settings.PORT,
    workerPort: settings.WORKER_PORT ?? (settings.PORT === 0 ? 0 : settings.PORT + 1),
    logLevel: settings.LOG_LEVEL,
    database: { url: settings.DATABASE_URL, poolSize: settings.DATABASE_POOL_SIZE },
    provider: {
      url: new URL(settings.STRIPE_API_URL),
      apiKey: settings.STRIPE_API_KEY,
      webhookSecrets: settings.STRIPE_WEBHOOK_SECRETS.split(',').filter(Boolean),
      keyPrefix: settings.PROVIDER_KEY_PREFIX,
      keyWindowHours: settings.PROVIDER_KEY_WINDOW_HOURS,
    },
    mail: { smtpUrl: settings.SMTP_URL, from: settings.MAIL_FROM },
    hashSecret: settings.HASH_SECRET,
    retentionHours: settings.IDEMPOTENCY_RETENTION_HOURS,
    timings,
    commitEveryPhase: settings.COMMIT_EVERY_PHASE,
    faults: settings.FAULTS,
  };
}
