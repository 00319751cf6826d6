import type { Message } from '../../src/sandbox/lab/events.js';

/** Of `beginnings`, those that no title begins with after the one before was found. */
export function missingInOrder(messages: readonly Message[], beginnings: readonly string[]): string[] {
  const titles = messages.flatMap((message) => (message.type === 'happening' ? [message.title] : []));
  let from = 0;
  return beginnings.filter((beginning) => {
    const found = titles.findIndex((title, index) => index >= from && title.startsWith(beginning));
    if (found >= 0) from = found + 1;
    return found < 0;
  });
}
