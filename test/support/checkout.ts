import { randomUUID } from 'node:crypto';
import { ACME } from './start-api.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The bytes, as text, for comparing replays. */
  readonly text: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests look into whatever came back
  readonly body: any;
}

export interface PostOptions {
  readonly key?: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** POSTs JSON as a client would. `body` may be text, to choose its bytes. */
export async function post(
  url: string,
  body: unknown,
  { key, apiKey, headers }: PostOptions = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey ?? ACME.key}`,
      'content-type': 'application/json',
      'idempotency-key': key ?? randomUUID(),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return answerOf(response);
}

export async function get(url: string, { apiKey }: PostOptions = {}): Promise<Answer> {
  return answerOf(await fetch(url, { headers: { authorization: `Bearer ${apiKey ?? ACME.key}` } }));
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? undefined : JSON.parse(text),
  };
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
