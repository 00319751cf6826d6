import createClient, { type Client, type Middleware } from 'openapi-fetch';
import type { paths } from './api.js';
import { newKey } from './keys.js';
import { retryingFetch, type RetryOptions } from './retrying-fetch.js';

export type CheckoutClient = Client<paths>;

export interface CheckoutClientOptions extends RetryOptions {
  /** Where the service is: `https://pay.example`. */
  readonly baseUrl: string;
  readonly apiKey: string;
}

/**
 * A typed client that may be trusted with a lost answer. One intent is one key, made before the first send:
 *
 *   const key = newKey(); // and keep it
 *   const { data, error } = await client.POST('/v1/checkouts', { params: { header: { 'Idempotency-Key': key } }, body });
 *
 * @throws RangeError where the options contradict each other
 */
export function createCheckoutClient({ baseUrl, apiKey, ...retry }: CheckoutClientOptions): CheckoutClient {
  const client = createClient<paths>({
    baseUrl,
    headers: { Authorization: `Bearer ${apiKey}` },
    fetch: retryingFetch(retry),
  });
  client.use(KEY_WHERE_NONE_IS);
  return client;
}

/** The routes that take a key. */
type Keyed = {
  [Path in keyof paths]: paths[Path] extends {
    post: { parameters: { header: { 'Idempotency-Key': string } } };
  }
    ? Path
    : never;
}[keyof paths];

/** One that is missing here, or is too many, does not compile. */
const KEYED: Readonly<Record<Keyed, true>> = {
  '/v1/orders': true,
  '/v1/charges': true,
  '/v1/checkouts': true,
  '/v1/charges/{id}/refunds': true,
};

/**
 * The types ask for a key; a caller without types may forget it. Then there is one for this call and its retries, which
 * is lost with the process.
 */
const KEY_WHERE_NONE_IS: Middleware = {
  onRequest({ request, schemaPath }) {
    const needsKey = request.method === 'POST' && schemaPath in KEYED;
    if (needsKey && !request.headers.has('Idempotency-Key')) request.headers.set('Idempotency-Key', newKey());
    return request;
  },
};
