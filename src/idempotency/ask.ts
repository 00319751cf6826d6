import type { FrozenRequest } from './attempt.js';
import type { Foreign, Outcome } from './course.js';

/**
 * Makes a foreign call. Unknown: once more with the same derived key, then the effect is looked up, as far as there is
 * time. A stored 500 would only be repeated, and past the other system's retention of derived keys nothing may be sent
 * again: both are looked up at once. Once a try may have acted, that a later one did not proves nothing. A system that
 * asks to be left alone gets neither a second call nor a look-up.
 */
export async function ask(call: Foreign, request: FrozenRequest, hasTime: () => boolean): Promise<Outcome> {
  const send = () => call.call(request.body, request.derivedKey).catch(asUnknown);
  const find = () => call.find(request.body).catch(asUnknown);
  if (request.windowOver) return find();

  let outcome = await send();
  const inDoubt = request.inDoubt || outcome.status === 'unknown';
  const mayAsk = () => outcome.retryAfterSeconds === undefined && hasTime();
  if (outcome.status === 'unknown' && !outcome.replayed && mayAsk()) outcome = await send();
  if (!inDoubt || settles(outcome)) return outcome;
  const found = mayAsk() ? await find() : outcome;
  return found.status === 'not_acted' ? { ...found, status: 'unknown' } : found;
}

function settles({ status }: Outcome): boolean {
  return status !== 'unknown' && status !== 'not_acted';
}

/** A call that throws says nothing of what it did. */
function asUnknown(error: unknown): Outcome {
  return { status: 'unknown', reason: error instanceof Error ? error.message : String(error) };
}
