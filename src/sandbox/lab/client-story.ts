import type { Happening, Words } from './events.js';
import type { Reply } from './http-client.js';
import { tellReply } from './reply-story.js';

/** One of the client's requests, for those who read about it. */
export interface Numbered {
  readonly number: number;
  /** What the run calls its key. */
  readonly label: string;
}

/** The client sees its connection break before the supervisor sees the process die; it is told of it after that. */
const BAD_NEWS_TRAVEL_MS = 60;

export function asks({ number, label }: Numbered, who: string, again: boolean, broken: boolean): Happening {
  const text = again
    ? `Key ${label} again: it names the purchase, not this attempt.`
    : `${who} sends a checkout under key ${label}.`;
  return {
    at: now(),
    kind: 'request',
    from: 'client',
    to: 'api',
    label,
    title: `request ${number} · key ${label}`,
    text: broken ? `${text} (In this request something will break.)` : text,
  };
}

export function hears({ number, label }: Numbered, reply: Reply): Happening {
  return { at: now(), kind: 'reply', from: 'api', to: 'client', label, ...tellReply(reply, number) };
}

export function hearsNothing({ label }: Numbered, error: NodeJS.ErrnoException): Happening {
  const refused = error.code === 'ECONNREFUSED';
  const at = now() + (refused ? 0 : BAD_NEWS_TRAVEL_MS);
  const words = refused ? NOBODY_LISTENS : NO_ANSWER;
  return { at, kind: 'reply', from: 'api', to: 'client', label, broken: true, ...words };
}

export function hangs({ number, label }: Numbered): Happening {
  const text = 'No answer for three seconds, and nobody waits for ever. The client will ask again.';
  return {
    at: now(),
    kind: 'note',
    from: 'client',
    label,
    title: `request ${number} hangs`,
    text,
    tone: 'wait',
  };
}

export function leaves(): Happening {
  const text = 'The client has gone for good. Nobody will ask about this purchase again.';
  const at = now() + BAD_NEWS_TRAVEL_MS + 1; // it leaves because of them
  return { at, kind: 'note', from: 'client', title: 'the client is gone', text, tone: 'wait' };
}

export function hoursPass(hours: number): Happening {
  const text =
    'The lab moves the row of the key back in time: it has been kept for 72 hours, and has expired.';
  return { at: now(), kind: 'clock', from: 'database', title: `${hours} hours pass`, text, tone: 'wait' };
}

const NOBODY_LISTENS: Words = {
  title: 'nobody listens',
  text: 'The process is not back yet. The client will ask again.',
  tone: 'wait',
};

const NO_ANSWER: Words = {
  title: 'no answer',
  text: 'The connection breaks. Was the card charged? The client cannot know.',
  tone: 'bad',
};

function now(): number {
  return performance.timeOrigin + performance.now();
}
