/**
 * How long a message rests after its nth failed try, in seconds: exponential, with full jitter, so that a mail
 * server that comes back is not met by everything at once.
 */
export function backoffSeconds(attempts: number, random: () => number = Math.random): number {
  return random() * Math.min(LONGEST_SECONDS, 2 ** (attempts - 1));
}

/** Four hours: a server that was down overnight is tried again early the next morning. */
const LONGEST_SECONDS = 4 * 60 * 60;

/**
 * After this many tries a message is dead. With the backoff above that takes three days on average: what broke on
 * a Friday can be mended on Monday, and the messages then go out without anybody's help.
 */
export const MAX_ATTEMPTS = 50;
