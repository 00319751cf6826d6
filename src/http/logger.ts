import type { LoggerService } from '@nestjs/common';
import { destination, pino, type DestinationStream, type Level, type Logger } from 'pino';
import type { Config } from '../config/config.js';

/**
 * The one logger of a process: lines of JSON on standard output.
 * Written without waiting for the pipe, a slow reader of logs must not slow a checkout down, and some dozen lines at once:
 * two writes for each checkout were a twentieth of its time. A process that is killed takes its last tenth of a second along.
 */
export function createLogger(
  { logLevel: level, role }: Pick<Config, 'logLevel' | 'role'>,
  to: DestinationStream = destination({ sync: false, minLength: 4_096, periodicFlush: 100 }),
): Logger {
  return pino(
    {
      level,
      base: { role }, // host and process id are the platform's to add
      redact: { paths: SECRETS, censor: '[redacted]' },
      serializers: { err: describeError },
    },
    to,
  );
}

/** Nothing logs headers today; whoever starts to will not leak these, wherever they put them. */
const SECRETS = ['headers', '*.headers'].flatMap((place) =>
  ['authorization', 'idempotency-key', 'cookie', 'set-cookie'].map((name) => `${place}["${name}"]`),
);

/**
 * What an error may say in a log. Its other members stay out: pg's and TypeORM's errors carry the statement's
 * values (`detail`, `parameters`), and an address in a message is nobody's business either.
 */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: withoutAddresses(String(error)) };
  const { name, message, stack, code, cause } = error as Error & { code?: unknown };
  return {
    type: name,
    message: withoutAddresses(message),
    stack: withoutAddresses(stack ?? ''),
    ...(code === undefined ? {} : { code }),
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}

/** What mail servers and constraints say may name a customer. */
export function withoutAddresses(text: string): string {
  return text.replace(/[^\s@"'<>(),;:=]+@[^\s@"'<>(),;:=]+/g, '[address]');
}

/** What Nest says of its own boot: of use to whoever wires modules, not to whoever runs the service. */
const BOOT = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** Nest's own lines, in the same stream and form as ours. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log = (message: unknown, ...rest: unknown[]): void => this.write('info', message, rest);
  error = (message: unknown, ...rest: unknown[]): void => this.write('error', message, rest);
  warn = (message: unknown, ...rest: unknown[]): void => this.write('warn', message, rest);
  debug = (message: unknown, ...rest: unknown[]): void => this.write('debug', message, rest);
  verbose = (message: unknown, ...rest: unknown[]): void => this.write('trace', message, rest);
  fatal = (message: unknown, ...rest: unknown[]): void => this.write('fatal', message, rest);

  /** Nest hands the name of the class over as the last argument. */
  private write(level: Level, message: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    const at = level === 'info' && BOOT.has(String(context)) ? 'debug' : level;
    if (message instanceof Error)
      this.logger[at]({ context, err: message }, withoutAddresses(message.message));
    else if (typeof message === 'object' && message !== null)
      this.logger[at]({ context, ...message }); // `msg` and `err` among its members are what pino calls them as well
    else this.logger[at]({ context }, withoutAddresses(String(message)));
  }
}
