import { listOf } from './list-of.js';
import type { Environment } from './environment.js';
import { hasPublishedPassword, isPublished, namesNobody } from './published.js';

/** Where customers come back to in the sandbox; nobody's page. */
const SANDBOX_RETURN_URL = 'https://example.com/';

/**
 * One sentence for each name that is fit for a laptop alone. The start is refused for it: with a secret that
 * everybody knows the service would run, and be anyone's.
 */
export function unsafeInProduction(settings: Environment): string[] {
  if (settings.NODE_ENV !== 'production') return [];
  return [
    ...(settings.FAULTS ? ['FAULTS must be off when NODE_ENV=production'] : []),
    ...published(settings),
    ...(isPageForCustomers(settings.PAYMENT_RETURN_URL)
      ? []
      : ['PAYMENT_RETURN_URL must be a page of yours, https://…, when NODE_ENV=production']),
  ];
}

function published(settings: Environment): string[] {
  const secrets = SECRETS.filter((name) => listOf(settings[name] ?? '').some(isPublished)).map(
    (name) => `${name} holds a secret that is published: set one of your own when NODE_ENV=production`,
  );
  const urls = URLS.filter((name) => hasPublishedPassword(settings[name] ?? '')).map(
    (name) => `${name} has a password that is published: set another when NODE_ENV=production`,
  );
  return [...secrets, ...urls, ...guest(settings)];
}

function guest({ AMQP_URL = '' }: Environment): string[] {
  return namesNobody(AMQP_URL)
    ? [
        'AMQP_URL names no user, which is guest with its password: name one of your own when NODE_ENV=production',
      ]
    : [];
}

const URLS = ['DATABASE_URL', 'AMQP_URL'] as const satisfies readonly (keyof Environment)[];

const SECRETS = [
  'HASH_SECRET',
  'OPERATOR_TOKENS',
  'METRICS_TOKEN',
  'STRIPE_API_KEY',
  'STRIPE_WEBHOOK_SECRETS',
] as const satisfies readonly (keyof Environment)[];

function isPageForCustomers(url: string): boolean {
  return url !== SANDBOX_RETURN_URL && url.startsWith('https:');
}
