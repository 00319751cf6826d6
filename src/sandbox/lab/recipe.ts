import { Refusal } from '../refusal.js';

/**
 * What a checkout in the lab can be made of: one choice of each kind, the first where nothing is said. The words on
 * the right are what the page shows.
 */
export const CHOICES = {
  clicks: { once: 'clicks once', twice: 'clicks twice at the same moment' },
  key: {
    purchase: 'one key per purchase',
    request: 'a new key for every request',
    session: 'one key for the whole session',
  },
  ref: { none: 'no externalRef', given: 'an externalRef that names the purchase' },
  client: { retries: 'asks again until it is answered', leaves: 'goes away when there is no answer' },
  then: {
    nothing: 'does nothing more',
    again: 'sends the same request once more',
    other: 'sends another card under the same key',
    second: 'buys the same thing again, on purpose',
    tenant: 'another tenant uses the same key',
    expired: 'comes back after 73 hours with the same key',
  },
  card: { good: 'a card that works', declined: 'a card that is declined' },
  service: {
    well: 'works',
    'phase.before_commit:order_created=crash': 'is killed before anything is committed',
    'call.before:charge=crash': 'is killed after the order, before the charge',
    'call.after:charge=crash': 'is killed after the charge',
    'phase.before_commit:finished=crash': 'is killed before the answer is stored',
    'phase.after_commit:finished=crash': 'is killed after the answer is stored',
    'call.after:charge=hang': 'stalls after the charge, and wakes up later',
    'phase.before_commit:finished=throw': 'fails once in its last phase',
    'phase.before_commit:finished=lose_commit_answer': 'is not told whether its COMMIT went through',
    'reply.before_send=lose_reply': 'loses the answer on its way to the client',
  },
  provider: {
    well: 'works',
    slow: 'takes a second',
    charges_silently: 'charges, and answers too late',
    is_silent: 'does nothing, and never answers',
    fails: 'answers 500 and has done nothing',
    charges_and_fails: 'answers 500 and has charged',
    cuts: 'charges, and the connection breaks',
    down: 'is down for the first three calls',
  },
  webhook: { sent: 'tells by webhook, too', lost: 'loses its webhook' },
  mail: { up: 'takes mails', down: 'refuses the first three mails' },
} as const satisfies Record<string, Record<string, string>>;

type Choices = typeof CHOICES;

/** One choice of each kind. */
export type Recipe = { readonly [Kind in keyof Choices]: keyof Choices[Kind] };

const KINDS = Object.keys(CHOICES) as (keyof Choices)[];

export const PLAIN = Object.fromEntries(KINDS.map((kind) => [kind, Object.keys(CHOICES[kind])[0]])) as Recipe;

/** @param given what the page sent: only what differs from `PLAIN` need be there. @throws Refusal */
export function readRecipe(given: unknown): Recipe {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Refusal('A recipe is an object, such as { "clicks": "twice" }.');
  for (const [kind, choice] of Object.entries(given)) {
    if (!Object.hasOwn(CHOICES, kind)) throw new Refusal(`A recipe has ${KINDS.join(', ')}; not "${kind}".`);
    const choices = CHOICES[kind as keyof Choices];
    if (typeof choice !== 'string' || !Object.hasOwn(choices, choice))
      throw new Refusal(`${kind} is one of ${Object.keys(choices).join(', ')}.`);
  }
  return { ...PLAIN, ...(given as Partial<Recipe>) };
}

/** How many purchases the customers mean to make. */
export function meant({ then }: Recipe): number {
  return then === 'second' || then === 'tenant' ? 2 : 1;
}
