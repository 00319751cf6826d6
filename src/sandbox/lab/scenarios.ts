import { PLAIN, type Recipe } from './recipe.js';
import type { Act, Scenario } from './scenario.js';

const act = (recipe: Partial<Recipe>, title?: string): Act => ({
  recipe: { ...PLAIN, ...recipe },
  ...(title !== undefined && { title }),
});

/** The client's retry is to be the rescue: without this the webhook may come first. */
const UNTOLD = { webhook: 'lost' } as const;

const BASICS: Scenario[] = [
  {
    id: 'happy-path',
    group: 'The usual',
    title: 'Everything works',
    story: 'A customer buys two mugs. Nothing breaks. Watch what is written before the card is charged.',
    lesson:
      'Local work commits before and after the call to the provider, never around it. No transaction is open while money moves.',
    acts: [act({})],
  },
  {
    id: 'answer-lost',
    group: 'The usual',
    title: 'The answer is lost',
    story: 'Everything is done, but the connection breaks before the client hears of it. So it asks again.',
    lesson:
      'The answer was stored in the same transaction as the last write. A retry is sent the same bytes, and nothing runs twice.',
    acts: [act({ service: 'reply.before_send=lose_reply' })],
  },
  {
    id: 'declined',
    group: 'The usual',
    title: 'The card is declined',
    story: 'The provider says no. The client, stubborn, sends the same request again.',
    lesson:
      'A decline is a final answer, so it is stored like any other. A retry cannot charge the card after all: another card needs a new key.',
    acts: [act({ card: 'declined', then: 'again' })],
  },
];

const KEYS: Scenario[] = [
  {
    id: 'double-click',
    group: 'Clicks and keys',
    title: 'Double click, one key',
    story: 'Two requests with the same key arrive in the same moment.',
    lesson:
      'One of them wins the claim, the other is told that the key is in use, waits, and is sent the stored answer.',
    acts: [act({ clicks: 'twice', provider: 'slow' })],
  },
  {
    id: 'double-click-two-keys',
    group: 'Clicks and keys',
    title: 'Double click, two keys',
    story:
      'The page mints a key per click. The service cannot know that both mean the same purchase, unless it is told.',
    lesson:
      'A key names one intent. Where two keys can be minted for it, give the purchase a name of its own: externalRef is unique for good.',
    acts: [
      act({ clicks: 'twice', key: 'request' }, 'Without externalRef'),
      act({ clicks: 'twice', key: 'request', ref: 'given' }, 'With externalRef'),
    ],
  },
  {
    id: 'key-per-attempt',
    group: 'Clicks and keys',
    title: 'A fresh key per attempt',
    story:
      'The answer is lost, and the client retries with a new key. To the service that is a new purchase.',
    lesson:
      'Never mint a new key after a timeout. Save the key before the first send; and give an externalRef as the second guard.',
    acts: [
      act({ key: 'request', service: 'reply.before_send=lose_reply' }, 'Without externalRef'),
      act({ key: 'request', service: 'reply.before_send=lose_reply', ref: 'given' }, 'With externalRef'),
    ],
  },
  {
    id: 'key-per-session',
    group: 'Clicks and keys',
    title: 'One key per session',
    story: 'The customer buys a second pair of mugs, and the page still sends the first key.',
    lesson:
      'The second purchase gets the stale reply of the first, and is never made. A new intent needs a new key.',
    acts: [
      act({ key: 'session', then: 'second' }, 'One key for the session'),
      act({ key: 'purchase', then: 'second' }, 'One key per purchase'),
    ],
  },
  {
    id: 'another-body',
    group: 'Clicks and keys',
    title: 'Same key, another body',
    story: 'The customer changes the card, and the page sends the old key with the new body.',
    lesson:
      'The fingerprint tells a retry from a mistake: 422, with the names of what differs, and nothing happens.',
    acts: [act({ then: 'other' })],
  },
  {
    id: 'another-tenant',
    group: 'Clicks and keys',
    title: 'Same key, another tenant',
    story: 'Two shops happen to use the same text as a key.',
    lesson: 'Keys belong to a tenant. The two rows have nothing to do with one another.',
    acts: [act({ then: 'tenant' })],
  },
  {
    id: 'expired-key',
    group: 'Clicks and keys',
    title: 'An expired key comes back',
    story: 'Keys are kept for 72 hours. A client comes back after 73; the lab moves the row back in time.',
    lesson:
      'An expired key is a new request. What must never happen twice needs a name that outlives the key: externalRef.',
    acts: [
      act({ then: 'expired' }, 'Without externalRef'),
      act({ then: 'expired', ref: 'given' }, 'With externalRef'),
    ],
  },
];

const CRASHES: Scenario[] = [
  {
    id: 'crash-after-order',
    group: 'The process dies',
    title: 'Killed after the order',
    story:
      'The order is written, the provider has not been asked yet, and the process dies. kill -9, no goodbye.',
    lesson:
      'The retry finds the key at order_created. It does not write a second order; it continues with the call.',
    acts: [act({ service: 'call.before:charge=crash', ...UNTOLD })],
  },
  {
    id: 'crash-after-charge',
    group: 'The process dies',
    title: 'Killed after the charge',
    story: 'The provider has charged the card, and the only process that knows is killed.',
    lesson:
      'The retry sends the same frozen request under the same derived key. The provider recognises it and repeats its answer: one charge.',
    acts: [act({ service: 'call.after:charge=crash', ...UNTOLD })],
  },
  {
    id: 'crash-before-answer',
    group: 'The process dies',
    title: 'Killed before the answer is stored',
    story: 'All is written and nothing is committed when the process dies. The database forgets all of it.',
    lesson:
      'What is not committed has not happened. The recovery point is still order_created, and the work is done again from there.',
    acts: [act({ service: 'phase.before_commit:finished=crash', ...UNTOLD })],
  },
  {
    id: 'slow-original',
    group: 'The process dies',
    title: 'The slow original wakes up',
    story:
      'The first process stalls after the charge. Its lease ends, a retry takes the key over and finishes. Then the first wakes up.',
    lesson:
      'Every write names the owner and the version it believes in. The old owner changes no row, and answers with what the new one stored.',
    acts: [act({ service: 'call.after:charge=hang', ...UNTOLD })],
  },
  {
    id: 'client-gone',
    group: 'The process dies',
    title: 'The client goes away',
    story: 'The process dies before the charge, and nobody ever comes back with the key.',
    lesson:
      'After a grace period the completer picks the key up and finishes the checkout with the stored input.',
    acts: [act({ service: 'call.before:charge=crash', client: 'leaves' })],
  },
  {
    id: 'webhook-rescue',
    group: 'The process dies',
    title: 'The webhook finishes it',
    story: 'The process dies after the charge and the client is gone. But the provider tells by webhook.',
    lesson:
      'A webhook is a hint: it waits in the inbox until the lease is over, and then takes the place of the answer that was lost.',
    acts: [act({ service: 'call.after:charge=crash', client: 'leaves' })],
  },
  {
    id: 'last-phase-fails',
    group: 'The process dies',
    title: 'The last phase fails',
    story: 'The card is charged, and then what follows fails once: an error, not a crash.',
    lesson:
      'Phases that share a transaction are run again one by one, so that the charge is recorded at charge_created whatever comes next.',
    acts: [act({ service: 'phase.before_commit:finished=throw' })],
  },
];

const OTHERS: Scenario[] = [
  {
    id: 'timeout-charged',
    group: 'Other systems',
    title: 'Timeout, but charged',
    story: 'The provider charges the card and does not answer in time.',
    lesson:
      'A timeout says nothing. The charge is asked for again under the same key, then looked up, and what is found is adopted.',
    acts: [act({ provider: 'charges_silently', ...UNTOLD })],
  },
  {
    id: 'timeout-not-charged',
    group: 'Other systems',
    title: 'Timeout, and not charged',
    story: 'The provider has done nothing, and does not say so.',
    lesson:
      'Not found is not proof. The client is told to come back (503), and the key resumes with the same derived key.',
    acts: [act({ provider: 'is_silent', ...UNTOLD })],
  },
  {
    id: 'mail-down',
    group: 'Other systems',
    title: 'The mail server is down',
    story: 'The receipt cannot be sent. The customer is not kept waiting for it.',
    lesson:
      'The receipt is a row in the outbox, committed with the payment. The relay tries until the mail is taken.',
    acts: [act({ mail: 'down' })],
  },
];

export const SCENARIOS: readonly Scenario[] = [...BASICS, ...KEYS, ...CRASHES, ...OTHERS];

export function findScenario(id: string): Scenario | undefined {
  return SCENARIOS.find((scenario) => scenario.id === id);
}
