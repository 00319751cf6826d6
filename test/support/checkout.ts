import { randomUUID } from 'node:crypto';
import request, { type Response } from 'supertest';
import { expectDescribed } from './described.js';
import { ACME } from './start-api.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The bytes, as text, for comparing replays. */
  readonly text: string;
  readonly body: any;
}

export interface PostOptions {
  readonly key?: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** POSTs JSON as a client would, under a new key unless one is given. `body` may be text, to choose its bytes. */
export function post(url: string, body: unknown, options: PostOptions = {}): Promise<Answer> {
  return send('post', url, body, { ...options, key: options.key ?? randomUUID() });
}

/** Sends what needs no key. */
export async function send(
  method: 'post' | 'put',
  url: string,
  body: unknown,
  { key, apiKey, headers }: PostOptions = {},
): Promise<Answer> {
  const call = request(url)[method]('');
  const response = await call
    .set('Authorization', `Bearer ${apiKey ?? ACME.key}`)
    .set('Content-Type', 'application/json')
    .set(key === undefined ? {} : { 'Idempotency-Key': key })
    .set(headers ?? {})
    .send(typeof body === 'string' ? body : JSON.stringify(body));
  return answerOf(method, url, response);
}

export async function get(url: string, { apiKey, headers }: PostOptions = {}): Promise<Answer> {
  const response = await request(url)
    .get('')
    .set('Authorization', `Bearer ${apiKey ?? ACME.key}`)
    .set(headers ?? {});
  return answerOf('get', url, response);
}

/** What came, once it is known to be what the description promises. */
export function answerOf(method: string, url: string, { status, headers, text, type }: Response): Answer {
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  expectDescribed({ method, url, status, contentType: type, body });
  return { status, headers: new Headers(headers), text, body };
}

export function orderBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    currency: 'eur',
    items: [{ sku: 'tea-250', description: 'Green tea', quantity: 2, unitAmount: 850 }],
    customer: { email: 'ada@example.com', name: 'Ada' },
    ...changes,
  };
}

export function checkoutBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return orderBody({ paymentMethod: 'pm_card_visa', ...changes });
}
