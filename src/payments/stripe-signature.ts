import Stripe from 'stripe';
import { SignatureInvalid } from './payment-event.js';

/** Stripe's window, in seconds; here it holds for both sides, as a time ahead would keep a stolen event fresh longer. */
const WINDOW_SECONDS = 300;

/**
 * Checks `Stripe-Signature` over the bytes of a body: `t=<seconds>,v1=<hex HMAC-SHA256 of "t.body">`. Any of the
 * secrets may have made any of its `v1`, so that a secret can be replaced while both are in use.
 * Source: https://docs.stripe.com/webhooks/signature.
 * @returns the event, parsed @throws SignatureInvalid
 */
export function verifiedEvent(
  bytes: Buffer,
  signature: string | undefined,
  secrets: readonly string[],
  now: number,
): Stripe.Event {
  let reason = 'no signing secret is configured';
  for (const secret of secrets) {
    try {
      const event = Stripe.webhooks.constructEvent(
        bytes,
        signature ?? '',
        secret,
        WINDOW_SECONDS,
        undefined,
        now,
      );
      refuseAheadOfTime(signature!, now);
      return expectEvent(event);
    } catch (error) {
      if (error instanceof SignatureInvalid) throw error;
      reason = reasonOf(error);
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

/** Signed, and yet something else: a JSON value that no event could be. */
function expectEvent(event: Stripe.Event | null): Stripe.Event {
  if (isName(event?.id) && typeof event?.data?.object === 'object' && event.data.object) return event;
  throw new SignatureInvalid('the body is not an event');
}

function isName(id: unknown): boolean {
  return typeof id === 'string' && /^[\x21-\x7e]{1,255}$/.test(id);
}

/** Signed or not, what is no JSON is no event. The SDK's words for the rest are made for the programmer's screen. */
function reasonOf(error: unknown): string {
  if (error instanceof Stripe.errors.StripeSignatureVerificationError) return error.message.split('\n')[0]!;
  return 'the body is not an event';
}
