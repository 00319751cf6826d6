import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { Completer } from '../../src/idempotency/completer.js';
import { answerOf, checkoutBody, get, post, type Answer } from './checkout.js';
import type { LedgerEntry } from './mock-provider.js';
import type { Shop } from './shop.js';

export const OPERATORS = { ada: 'op_test_of_ada_0123', grace: 'op_test_of_grace_45' };

type Method = 'get' | 'put' | 'post' | 'delete';

/** Calls a route of the operator. @param token undefined: none is sent */
export async function operate(
  url: string,
  method: Method,
  path: string,
  { body, token }: { body?: object; token?: string | undefined } = { token: OPERATORS.ada },
): Promise<Answer> {
  const call = request(url)[method](`/v1/operator/${path}`);
  if (token !== undefined) void call.set('Authorization', `Bearer ${token}`);
  return answerOf(method, `${url}/v1/operator/${path}`, await (body ? call.send(body) : call));
}

/** A checkout that only a person can settle. */
export interface Held {
  readonly key: string;
  /** As the operator's list has it. */
  readonly review: any;
  /** What the provider knows of the charge; none where it never got the request. */
  readonly made: LedgerEntry | undefined;
  retry(): Promise<Answer>;
}

/**
 * The provider's answer is lost twice and the look-up fails; then its key window passes, and the completer's tries are
 * used up.
 * @param lost whether the provider acted before its answer was lost, or never got the request
 */
export async function heldCheckout(
  shop: Shop,
  lost: 'drop_after' | 'drop_before' = 'drop_after',
  changes: Record<string, unknown> = {},
): Promise<Held> {
  const { api, provider } = shop;
  const key = randomUUID();
  const body = checkoutBody(changes);
  const retry = () => post(`${api.url}/v1/checkouts`, body, { key });
  await provider.fault(lost, { times: 2 });
  await provider.fault('search_down', { times: 1 });
  await retry();
  await useUp(shop, key);
  const review = await newestReview(api.url);
  const { charges } = await provider.ledger();
  const made = charges.find(({ metadata }) => metadata['charge_id'] === review.charge.id);
  return { key, review, made, retry };
}

/** The key is past the provider's window, and the completer has had its last try: a person is asked. */
export async function useUp({ api, db, provider }: Shop, key: string): Promise<void> {
  await windowPasses(db, key);
  await db.sql(
    "UPDATE idempotency_keys SET doubtful_tries = 1000, next_run_at = now() - interval '1 s' WHERE key = $1",
    [key],
  );
  await api.app.get(Completer, { strict: false }).runOnce();
  await provider.clearFaults();
}

export async function newestReview(url: string): Promise<any> {
  return (await operate(url, 'get', 'reviews?status=open&limit=1')).body.data[0];
}

/** The provider may have forgotten the derived key. */
export const windowPasses = (db: Shop['db'], key: string) =>
  db.sql("UPDATE idempotency_keys SET first_sent_at = now() - interval '25 h' WHERE key = $1", [key]);

export interface Decision {
  readonly decision: string;
  readonly providerId?: string;
  readonly note?: string;
}

export async function listReviews({ api }: Shop, query = ''): Promise<any> {
  return (await operate(api.url, 'get', `reviews${query}`)).body;
}

export function decideReview(
  { api }: Shop,
  id: string,
  body: Decision,
  token = OPERATORS.ada,
): Promise<Answer> {
  return operate(api.url, 'put', `reviews/${id}/decision`, { body, token });
}

/** The review of a checkout as the operator's list has it by now. */
export async function reviewNow(shop: Shop, { review }: Held): Promise<any> {
  const { data } = await listReviews(shop, '?limit=100');
  return data.find(({ id }: { id: string }) => id === review.id);
}

/** The key of a checkout as its client sees it by now. */
export async function keyNow({ api }: Shop, { key }: Held): Promise<any> {
  return (await get(`${api.url}/v1/idempotency-keys?key=${key}`)).body;
}
