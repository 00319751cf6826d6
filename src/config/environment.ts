import { plainToInstance, Transform } from 'class-transformer';
import {
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  MinLength,
  ValidateBy,
  validateSync,
  type ValidationError,
} from 'class-validator';
import ipaddr from 'ipaddr.js';
import { addressesOf } from './addresses.js';
import { listOf } from './list-of.js';
import { wrongSealingKeys } from './sealing-keys.js';

export type Role = 'api' | 'worker' | 'all';

/**
 * What the environment may say, name by name. `.env.example` lists the same names; a test compares the two.
 * Times of the lease family are optional: left out, they scale with the lease (see `Timings`).
 */
export class Environment {
  @IsIn(['development', 'test', 'production']) NODE_ENV = 'development';
  @IsIn(['api', 'worker', 'all']) ROLE: Role = 'all';
  @IsString() HOST = '0.0.0.0';
  @Numeric() @IsInt() @Min(0) @Max(65535) PORT = 3000;
  @IsOptional() @Numeric() @IsInt() @Min(0) @Max(65535) WORKER_PORT?: number;
  @IsIn(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']) LOG_LEVEL = 'info';

  @IsDatabaseUrl() DATABASE_URL!: string;
  @Numeric() @IsInt() @Min(1) @Max(500) DATABASE_POOL_SIZE = 10;
  @Switch() @IsBoolean({ message: switchMessage }) PREPARED_STATEMENTS = true;

  @IsUrlLike('https://api.stripe.com', 'http', 'https') STRIPE_API_URL!: string;
  @IsString() @MinLength(1) STRIPE_API_KEY!: string;
  @IsString() STRIPE_WEBHOOK_SECRETS = '';
  @IsUrlLike('https://shop.example/paid', 'http', 'https') PAYMENT_RETURN_URL = 'https://example.com/';
  @Matches(/^[a-z0-9_-]{1,32}$/, { message: 'PROVIDER_KEY_PREFIX must be 1 to 32 of a-z, 0-9, _ and -' })
  PROVIDER_KEY_PREFIX!: string;

  @IsUrlLike('smtp://host:1025', 'smtp', 'smtps') SMTP_URL!: string;
  @IsString() MAIL_FROM = 'Checkout <receipts@example.com>';

  @IsOptional() @IsUrlLike('amqp://user:password@host:5672/vhost', 'amqp', 'amqps') AMQP_URL?: string;

  @MinLength(32, { message: 'HASH_SECRET must have at least 32 characters: it keys the hashes of API keys' })
  HASH_SECRET!: string;

  @AreSealingKeys() SEALING_KEYS = '';

  @Matches(/^([\w.~+/-]{16,200}=*(\s*,\s*|$))*$/, {
    message: 'OPERATOR_TOKENS must be tokens of at least 16 letters, digits and _ . ~ + / -, comma separated',
  })
  OPERATOR_TOKENS = '';

  @Matches(/^([\w.~+/-]{16,200}=*)?$/, {
    message: 'METRICS_TOKEN must be at least 16 letters, digits and _ . ~ + / -',
  })
  METRICS_TOKEN = '';

  @Numeric() @IsInt() @Min(0) TENANT_REQUESTS_PER_SECOND = 0;
  @Numeric() @IsInt() @Min(0) ADDRESS_REQUESTS_PER_SECOND = 0;
  @AreAddresses() TRUST_PROXY = '';

  @Numeric() @IsInt() @Min(24) @Max(24 * 365) IDEMPOTENCY_RETENTION_HOURS = 72;
  @Numeric() @IsInt() @Min(3) @Max(600) IDEMPOTENCY_LEASE_SECONDS = 30;
  @IsOptional() @Numeric() @IsNumber() @Min(0.05) PROVIDER_TIMEOUT_SECONDS?: number;
  @IsOptional() @Numeric() @IsNumber() @Min(0.1) REQUEST_DEADLINE_SECONDS?: number;
  @IsOptional() @Numeric() @IsNumber() @Min(1) IDEMPOTENCY_MAX_HOLD_SECONDS?: number;
  @IsOptional() @Numeric() @IsNumber() @Min(1) COMPLETER_GRACE_SECONDS?: number;
  @Numeric() @IsInt() @Min(1) PROVIDER_KEY_WINDOW_HOURS = 24;
  @Numeric() @IsInt() @Min(1) @Max(100_000) PROVIDER_BREAKER_FAILURES = 10;
  @Numeric() @IsInt() @Min(1) @Max(60) PROVIDER_BREAKER_SECONDS = 10;
  @Numeric() @IsInt() @Min(1) @Max(1000) COMPLETER_MAX_TRIES = 20;
  @IsIn(['finish', 'void']) ABANDONED_CHECKOUTS: 'finish' | 'void' = 'finish';

  @Numeric() @IsInt() @Min(1) @Max(3650) OUTBOX_RETENTION_DAYS = 7;
  @Numeric() @IsInt() @Min(4) @Max(3650) INBOX_RETENTION_DAYS = 30;

  @Numeric() @IsInt() @Min(1) @Max(24 * 30) OPEN_CHARGE_HOURS = 24;

  @Switch() @IsBoolean({ message: switchMessage }) COMMIT_EVERY_PHASE = false;
  @Switch() @IsBoolean({ message: switchMessage }) FAULTS = false;
}

export interface ReadEnvironment {
  readonly settings: Environment;
  /** One sentence for each name that cannot be used. */
  readonly problems: readonly string[];
}

/** A name that is set to nothing counts as not set, as `docker compose` passes on what a shell does not have. */
export function readEnvironment(env: NodeJS.ProcessEnv): ReadEnvironment {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const settings = plainToInstance(Environment, given, { exposeDefaultValues: true });
  const errors = validateSync(settings, { forbidUnknownValues: false, stopAtFirstError: true });
  return { settings, problems: errors.map(describe) };
}

/** Never repeats the value: it may be a password. */
function describe({ property, value, constraints = {} }: ValidationError): string {
  return value === undefined ? `${property} is not set` : Object.values(constraints).join('; ');
}

function Numeric(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? Number(value) : value));
}

/** Other words stay what they are, and are refused: `COMMIT_EVERY_PHASE=yes` must not quietly mean no. */
function Switch(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => SWITCH_WORDS.get(value) ?? value);
}

const SWITCH_WORDS = new Map<unknown, boolean>([
  ['on', true],
  ['true', true],
  ['off', false],
  ['false', false],
]);

function switchMessage({ property }: { property: string }): string {
  return `${property} must be on or off`;
}

function IsUrlLike(example: string, ...schemes: string[]): PropertyDecorator {
  return ValidateBy({
    name: 'isUrlLike',
    validator: {
      validate: (value) => typeof value === 'string' && hasScheme(value, schemes),
      defaultMessage: (args) => `${args!.property} must look like ${example}`,
    },
  });
}

/** Of one server, or of several. */
function IsDatabaseUrl(): PropertyDecorator {
  return ValidateBy({
    name: 'isDatabaseUrl',
    validator: {
      validate: (value) =>
        typeof value === 'string' &&
        addressesOf(value).every((each) => hasScheme(each, ['postgres', 'postgresql'])),
      defaultMessage: (args) =>
        `${args!.property} must look like postgres://user:password@host:5432/name, or …@one:5432,two:5432/name`,
    },
  });
}

function AreAddresses(): PropertyDecorator {
  return ValidateBy({
    name: 'areAddresses',
    validator: {
      validate: (value) => typeof value === 'string' && listOf(value).every(isAddress),
      defaultMessage: (args) =>
        `${args!.property} must be addresses or networks of proxies, comma separated: 10.0.0.0/8, loopback`,
    },
  });
}

function AreSealingKeys(): PropertyDecorator {
  return ValidateBy({
    name: 'areSealingKeys',
    validator: {
      validate: (value) => typeof value === 'string' && wrongSealingKeys(value) === undefined,
      defaultMessage: (args) => wrongSealingKeys(String(args!.value)) ?? 'SEALING_KEYS must be a text',
    },
  });
}

const NAMED_NETWORKS = ['loopback', 'linklocal', 'uniquelocal'];

/** All addresses of a version are no proxies of anybody's, and a number alone, which counts proxies elsewhere, is none here. */
function isAddress(text: string): boolean {
  if (NAMED_NETWORKS.includes(text)) return true;
  return /[.:]/.test(text) && !text.endsWith('/0') && (ipaddr.isValid(text) || ipaddr.isValidCIDR(text));
}

function hasScheme(url: string, schemes: readonly string[]): boolean {
  return URL.canParse(url) && schemes.includes(new URL(url).protocol.slice(0, -1));
}
