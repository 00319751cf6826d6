import type { FrozenRequest } from './attempt.js';
import type { Foreign, Outcome } from './course.js';

/**
 * Makes a foreign call. Unknown: once more with the same derived key, then the effect is looked up, as far as there is
 * time. A stored 500 would only be repeated, and past the other system's retention of derived keys nothing may be sent
 * again: both are looked up at once. Once a try may have acted, that a later one did not proves nothing. A system that
 * asks to be left alone gets neither a second call nor a look-up; a call without a key is not sent again once it may have
 * been sent.
 */
export async function ask(call: Foreign, request: FrozenRequest, hasTime: () => boolean): Promise<Outcome> {
  const mayAsk = ({ retryAfterSeconds }: Outcome) => retryAfterSeconds === undefined && hasTime();
  if (request.windowOver || (request.inDoubt && !isKeyed(call))) return find(call, request);
  const first = await send(call, request);
  const outcome = isWorthRepeating(call, first) && mayAsk(first) ? await send(call, request) : first;
  const inDoubt = request.inDoubt || first.status === 'unknown';
  if (!inDoubt || settles(outcome)) return outcome;
  const found = mayAsk(outcome) ? await find(call, request) : outcome;
  return settles(found) ? found : { ...found, status: 'unknown', harmless: first.status === 'not_acted' };
}

function isKeyed({ keyed }: Foreign): boolean {
  return keyed !== false;
}

function isWorthRepeating(call: Foreign, { status, replayed }: Outcome): boolean {
  return status === 'unknown' && !replayed && isKeyed(call);
}

function send(call: Foreign, { body, derivedKey }: FrozenRequest): Promise<Outcome> {
  return call.call(body, derivedKey).catch(asUnknown);
}

async function find(call: Foreign, { body }: FrozenRequest): Promise<Outcome> {
  return call.find ? call.find(body).catch(asUnknown) : CANNOT_BE_FOUND;
}

const CANNOT_BE_FOUND: Outcome = { status: 'unknown', reason: 'the call cannot be looked up', absent: true };

function settles({ status }: Outcome): boolean {
  return status !== 'unknown' && status !== 'not_acted';
}

/** A call that throws says nothing of what it did. */
function asUnknown(error: unknown): Outcome {
  return { status: 'unknown', reason: error instanceof Error ? error.message : String(error) };
}
