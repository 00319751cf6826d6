import type { Words } from './events.js';
import type { Row, Version } from './history.js';

/** What the relay and the inbox write on their own. */
export function tellMessages(versions: readonly Version[]): Words | undefined {
  for (const { table, before, after } of versions) {
    if (!after) continue;
    if (table === 'outbox_messages') return ofOutbox(before, after);
    if (table === 'inbox_messages') return ofInbox(before, after);
  }
  return undefined;
}

function ofOutbox(before: Row | null, after: Row): Words | undefined {
  if (after['sent_at'] !== null)
    return {
      title: 'receipt marked sent',
      text: 'The mail server has taken it: the message is done.',
      tone: 'good',
    };
  if (after['dead_at'] !== null)
    return { title: 'dead letter', text: 'Tried too often: a person may send it again.', tone: 'bad' };
  if (after['claim_token'] !== null)
    return {
      title: 'relay takes the receipt',
      text: 'The worker picks up the receipt that was committed with the payment.',
    };
  if (!before?.['claim_token']) return undefined;
  return {
    title: 'receipt put off',
    text: `The mail server refused it. Nothing is lost: try ${Number(after['attempts']) + 1} follows after a pause.`,
    tone: 'wait',
  };
}

function ofInbox(before: Row | null, after: Row): Words | undefined {
  if (!before)
    return {
      title: 'event into the inbox',
      text: 'The event is stored, once, and only then acknowledged. The worker does the rest.',
    };
  if (after['applied_at'] !== null && before['applied_at'] === null)
    return {
      title: 'event applied',
      text: 'What the event says is true in our books, and it is marked as applied.',
    };
  if (before['last_error'] === after['last_error']) return undefined;
  return {
    title: 'event waits',
    text: `The event is only a hint, and its turn has not come: ${String(after['last_error'])}.`,
    tone: 'wait',
  };
}
