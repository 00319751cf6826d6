import { createHmac, randomBytes } from 'node:crypto';
import type { MockProvider } from './mock-provider.js';
import { call } from './stripe-wire.js';

/** The endpoint's secret, and the one that it replaces: both are in use. */
export const SECRET = 'whsec_test_new';
export const OLD_SECRET = 'whsec_test_old';
export const STRIPE_WEBHOOK_SECRETS = `${SECRET}, ${OLD_SECRET}`;

type Json = Record<string, unknown>;

export const secondsNow = () => Math.floor(Date.now() / 1_000);

/** By hand, so that the SDK's idea of a signature is not what is tested. */
export function hmac(body: string | Buffer, time: number, secret = SECRET): string {
  return createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex');
}

export function signature(body: string, { time = secondsNow(), secret = SECRET } = {}): string {
  return `t=${time},v1=${hmac(body, time, secret)}`;
}

/** @returns the status of the answer, and its problem if it is one */
export async function deliver(
  apiUrl: string,
  body: string | Buffer,
  header: string | undefined,
): Promise<{ status: number; code: string | undefined }> {
  const answer = await fetch(`${apiUrl}/v1/webhooks/payments`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      ...(header === undefined ? {} : { 'Stripe-Signature': header }),
    },
    body,
  });
  const text = await answer.text();
  return {
    status: answer.status,
    code: text === '' ? undefined : (JSON.parse(text) as { code: string }).code,
  };
}

/** @returns the status of the answer to `event`, signed as it should be */
export async function tell(apiUrl: string, event: Json): Promise<number> {
  const body = JSON.stringify(event);
  return (await deliver(apiUrl, body, signature(body))).status;
}

export function eventOf(type: string, object: Json, id = `evt_${randomBytes(8).toString('hex')}`): Json {
  return { id, object: 'event', type, created: secondsNow(), livemode: false, data: { object } };
}

/** The event that tells of the state that an intent is in. */
export function eventAbout(intent: Json, changes: Json = {}): Json {
  const object = { ...intent, ...changes };
  const failed = object['status'] === 'requires_payment_method';
  return eventOf(`payment_intent.${failed ? 'payment_failed' : String(object['status'])}`, object);
}

/** What the provider has of a charge of ours; undefined where it never came to that. */
export async function intentOf({ url }: MockProvider, chargeId: string): Promise<Json> {
  const { body } = await call(`${url}/v1/payment_intents?limit=100`);
  const found = (body['data'] as Json[]).find(({ metadata }) => (metadata as Json)['charge_id'] === chargeId);
  if (!found) throw new Error(`The provider has nothing of ${chargeId}`);
  return found;
}

/** Plays the customer at the bank's page. */
export async function authenticate(
  { url }: MockProvider,
  id: unknown,
  outcome: 'succeed' | 'fail',
): Promise<void> {
  const answer = await fetch(`${url}/_authenticate/${String(id)}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ outcome }),
  });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
}

/** From now on the provider sends its events to this API. */
export async function subscribe({ url }: MockProvider, apiUrl: string): Promise<void> {
  const answer = await fetch(`${url}/_webhook_endpoint`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ url: `${apiUrl}/v1/webhooks/payments`, secret: SECRET }),
  });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
}
