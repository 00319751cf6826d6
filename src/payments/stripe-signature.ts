import Stripe from 'stripe';
import { NotAnEvent, SignatureInvalid } from './payment-event.js';

/** Stripe's window, in seconds; here it holds for both sides, as a time ahead would keep a stolen event fresh longer. */
const WINDOW_SECONDS = 300;

/**
 * Checks `Stripe-Signature` over the bytes of a body: `t=<seconds>,v1=<hex HMAC-SHA256 of "t.body">`. Any of the
 * secrets may have made any of its `v1`, so that a secret can be replaced while both are in use.
 * Source: https://docs.stripe.com/webhooks/signature.
 * @returns the event, parsed @throws SignatureInvalid, NotAnEvent
 */
export function verifiedEvent(
  bytes: Buffer,
  signature: string | undefined,
  secrets: readonly string[],
  now: number,
): Stripe.Event {
  verify(bytes, signature ?? '', secrets, now);
  return parsed(bytes);
}

function verify(bytes: Buffer, signature: string, secrets: readonly string[], now: number): void {
  let reason = 'no signing secret is configured';
  for (const secret of secrets) {
    try {
      Stripe.webhooks.signature!.verifyHeader(bytes, signature, secret, WINDOW_SECONDS, undefined, now);
      return refuseAheadOfTime(signature, now);
    } catch (error) {
      if (error instanceof SignatureInvalid) throw error;
      reason = (error as Error).message.split('\n')[0]!; // the rest of the SDK's words is made for the programmer's screen
    }
  }
  throw new SignatureInvalid(reason);
}

/** The SDK refuses only what is too old. It has found the signature by the last `t`, so that is the one to judge. */
function refuseAheadOfTime(signature: string, now: number): void {
  const times = signature.split(',').filter((part) => part.startsWith('t='));
  const time = Number.parseInt(times.at(-1)!.slice(2), 10);
  if (!(time - now / 1_000 <= WINDOW_SECONDS)) throw new SignatureInvalid('the timestamp is ahead of time');
}

function parsed(bytes: Buffer): Stripe.Event {
  try {
    const event = JSON.parse(bytes.toString()) as Stripe.Event | null;
    if (isName(event?.id) && typeof event?.data?.object === 'object' && event.data.object) return event;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new NotAnEvent();
}

function isName(id: unknown): boolean {
  return typeof id === 'string' && /^[\x21-\x7e]{1,255}$/.test(id);
}
