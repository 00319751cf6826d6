import { addressesOf } from './addresses.js';

/**
 * Secrets that stand in this repository for everybody to read: the sandbox's, the tests' and those of
 * docker-compose.yml. Whoever knows the project knows them, so in production they open nothing.
 */

/** The secret that the sandbox and the tests use. Anything else must bring its own. */
export const SANDBOX_SECRET = 'sandbox-only-secret-do-not-use-anywhere-else';

/** What the sandbox's operator signs in with. */
export const SANDBOX_OPERATOR_TOKEN = 'op_test_operator';

/** The sandbox's provider signs with it, and the sandbox's API believes it. */
export const SANDBOX_WEBHOOK_SECRET = 'whsec_sandbox_only_do_not_use_anywhere_else';

/** What the sandbox's provider is called with; it asks nobody who they are. */
export const SANDBOX_PROVIDER_KEY = 'sk_test_sandbox';

/** The keys of the demo tenants. */
export const DEMO_API_KEYS = { acme: 'ck_test_acme', globex: 'ck_test_globex' } as const;

/** Of both, of the examples, and the one that RabbitMQ comes with. */
const PASSWORDS = ['checkout', 'checkout_app', 'postgres', 'password', 'guest'];

const OF_COMPOSE = [
  'compose-only-secret-do-not-use-anywhere-else',
  'whsec_compose_only_do_not_use_anywhere_else',
];

const SECRETS: ReadonlySet<string> = new Set([
  SANDBOX_SECRET,
  SANDBOX_OPERATOR_TOKEN,
  SANDBOX_WEBHOOK_SECRET,
  SANDBOX_PROVIDER_KEY,
  ...Object.values(DEMO_API_KEYS),
  ...OF_COMPOSE,
]);

/** Whatever it is used for: a token of the sandbox is no better as a secret. */
export function isPublished(secret: string): boolean {
  return SECRETS.has(secret);
}

/** @param url of a database or broker; one without a password lets its users in by other means */
export function hasPublishedPassword(url: string): boolean {
  return addressesOf(url).some((each) => URL.canParse(each) && PASSWORDS.includes(new URL(each).password));
}

/** @param url of a broker: whoever connects without a name and a password is the guest, whose password everybody knows */
export function namesNobody(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { username, password } = new URL(url);
  return username === '' && password === '';
}
