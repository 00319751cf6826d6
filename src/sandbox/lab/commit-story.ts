import { linesOf } from './commit-lines.js';
import type { Happening, Lane, Words } from './events.js';
import type { Version } from './history.js';
import { stepOf, type KeyStep, type WatchedKey } from './key-view.js';
import { tellMessages } from './message-story.js';

/** What one transaction wrote, told in words. `key` is the one that it moved on, if it did. */
export function tellCommit(
  versions: readonly Version[],
  key?: WatchedKey,
): Omit<Happening, 'at'> | undefined {
  const steps = versions.filter(({ table }) => table === 'idempotency_keys').map(stepOf);
  const words = key && steps.length > 0 ? ofKey(steps, versions, key) : tellMessages(versions);
  if (!words) return undefined;
  const process = versions[0]?.process === 'worker' ? 'worker' : 'api';
  return {
    kind: 'commit',
    from: process satisfies Lane,
    to: 'database',
    wrote: linesOf(versions),
    ...words,
  };
}

function ofKey(steps: readonly KeyStep[], versions: readonly Version[], key: WatchedKey): Words | undefined {
  const last = steps.at(-1)!;
  if (steps[0] === 'claim') return key.isInProgress ? claimed(versions, key) : finished(key, true);
  switch (last) {
    case 'takeover':
      return takenOver(versions, key);
    case 'advance':
      return advanced(key);
    case 'finish':
      return finished(key, false);
    case 'review':
      return {
        title: 'left to a person',
        text: 'No program may decide this: a person is asked.',
        tone: 'bad',
      };
    case 'release':
      return released(key);
    case 'renew':
      return { title: 'lease renewed', text: 'The owner is alive and says so: its lease is extended.' };
    default:
      return undefined;
  }
}

function claimed(versions: readonly Version[], key: WatchedKey): Words {
  const again = Boolean(versions.find(({ table }) => table === 'idempotency_keys')?.before);
  const title = `COMMIT → ${pointOf(key)}`;
  if (again) {
    const text =
      'The old row has expired, so it counts as absent: the key is claimed anew under a new id, and a new order is written.';
    return { title, text, tone: 'wait' };
  }
  const text =
    'One transaction: the key is claimed, the order and the intent to charge are written, the request is frozen. Only now may the provider be asked.';
  return { title, text };
}

function takenOver(versions: readonly Version[], key: WatchedKey): Words {
  const point = pointOf(key);
  const { before, after } = versions.find(({ table }) => table === 'idempotency_keys')!;
  if (before?.['completer_tries'] !== after?.['completer_tries'])
    return {
      title: `completer takes over at ${point}`,
      text: `Nobody came back for the key. The completer becomes owner ${key.owner} and continues at ${point}, with the stored input.`,
    };
  if (key.process === 'worker')
    return {
      title: `worker takes over at ${point}`,
      text: `The lease is over, and the webhook knows what the call came to: the worker becomes owner ${key.owner} and continues at ${point}.`,
    };
  return {
    title: `takeover at ${point}`,
    text: `The retry becomes owner ${key.owner} and continues at ${point}. Should the old owner still be alive, the fence will refuse it.`,
  };
}

function advanced(key: WatchedKey): Words {
  const point = pointOf(key);
  const text =
    point === 'charge_created'
      ? 'What the provider said is written down. Whatever fails from here on, nobody has to ask it again.'
      : `The work has come as far as ${point}; whoever comes next continues there.`;
  return { title: `COMMIT → ${point}`, text };
}

function finished(key: WatchedKey, atOnce: boolean): Words {
  const status = key.row?.['reply_status'] as number;
  const title = 'COMMIT → finished';
  if (status < 300)
    return {
      title,
      text: 'One transaction: order paid, charge settled, ledger entry, receipt in the outbox, and the answer itself. All of it or none of it.',
      tone: 'good',
    };
  if (status === 402)
    return {
      title,
      text: 'The decline is final, so it is stored: a retry will hear the same.',
      tone: 'good',
    };
  const text = atOnce
    ? `The database refuses the purchase before anybody was charged, and the refusal (${status}) is stored under the key.`
    : `The answer (${status}) is final, and stored.`;
  return { title, text, tone: 'good' };
}

function released(key: WatchedKey): Words {
  const error = key.row?.['last_error'];
  const why = typeof error === 'string' ? ` (${error})` : '';
  return {
    title: 'key released',
    text: `The attempt ends without a result${why}. The recovery point ${pointOf(key)} is kept; whoever comes next continues there.`,
    tone: 'wait',
  };
}

function pointOf(key: WatchedKey): string {
  return String(key.row?.['recovery_point']);
}
