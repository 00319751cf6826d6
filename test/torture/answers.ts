import type { Facts } from './facts.js';
import { CHANGED_BODY, isDefinitive, WRONG_ORDER, type Try } from './journal.js';
import type { Violation } from './violation.js';

export function everyAnswerIsTheSame({ journal }: Facts): Violation[] {
  return journal.intents.flatMap(({ tenant, key, tries }) => {
    const seen = new Set(tries.filter(isDefinitive).map(({ status, body }) => `${status} ${body}`));
    return seen.size > 1 ? [{ what: `${seen.size} different final answers`, tenant, key }] : [];
  });
}

export function everyReplyIsWhatIsStored({ journal, keys }: Facts): Violation[] {
  const stored = new Map(keys.map((row) => [`${row.tenant} ${row.key}`, row]));
  return journal.intents.flatMap(({ tenant, key, tries }) => {
    const seen = tries.find(isDefinitive);
    const row = stored.get(`${tenant} ${key}`);
    if (!seen || (row?.reply_status === seen.status && row?.reply_body === seen.body)) return [];
    return [{ what: row ? 'the answer is not what is stored' : 'answered, and not stored', tenant, key }];
  });
}

export function changedBodiesAreRefused({ journal }: Facts): Violation[] {
  return journal.intents.flatMap(({ tenant, key, tries }) =>
    tries
      .filter(
        ({ note, status }) => note === CHANGED_BODY && status !== undefined && status < 500 && status !== 422,
      )
      .map(({ status }) => ({ what: `another body was answered ${status}`, tenant, key })),
  );
}

/** A key is bound to its first body, and to no other; a refusal before the first commit binds it to none. */
export function ownBodiesAreAccepted({ journal }: Facts): Violation[] {
  return journal.intents.flatMap(({ tenant, key, tries }) =>
    tries.some(({ note, status }) => note !== CHANGED_BODY && note !== WRONG_ORDER && status === 422)
      ? [{ what: 'its own body was answered 422', tenant, key }]
      : [],
  );
}

/**
 * Whatever is away or broken has an answer of its own. A 500 means that nobody thought of it, except where the request
 * itself had our own code throw.
 */
export function noAnswerIsAnAccident({ journal }: Facts): Violation[] {
  return journal.intents.flatMap(({ tenant, key, tries }) =>
    tries.filter(isAccident).map(({ status, code }) => ({
      what: `answered ${status} ${code ?? 'without a problem'}`,
      tenant,
      key,
    })),
  );
}

function isAccident({ status = 0, code, note }: Try): boolean {
  if (note?.endsWith('=throw')) return status > 500 && code === undefined;
  return status === 500 || (status > 500 && code === undefined);
}

/** Faults end, and clients retry on: at last each of them hears how it ended. */
export function everyClientWasAnswered({ journal }: Facts): Violation[] {
  return journal.intents
    .filter(({ abandoned, final }) => !abandoned && !final)
    .map(({ tenant, key }) => ({ what: 'its client never got an answer', tenant, key }));
}
