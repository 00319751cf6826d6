/** What an answer says of when to come back; names in lower case. */
type Headers = Readonly<Record<string, unknown>> | undefined;

/**
 * For how many seconds an answer asks us to stay away, by its `Retry-After`: a number of seconds, or a date, which is
 * taken by the clock that made it where the answer has one. Undefined where it asks for nothing, or in no words that
 * HTTP knows. However long: what is too long to wait is the matter of whoever waits.
 * Source: RFC 9110, 10.2.3.
 */
export function retryAfterSeconds(headers: Headers, now = Date.now()): number | undefined {
  const text = textOf(headers?.['retry-after']);
  const seconds = /^\d{1,15}$/.test(text)
    ? Number(text)
    : (dateOf(text) - (dateOf(textOf(headers?.['date'])) || now)) / 1_000;
  return seconds > 0 ? Math.ceil(seconds) : undefined;
}

function textOf(header: unknown): string {
  return typeof header === 'string' ? header.trim() : '';
}

/** Milliseconds since 1970; NaN for what is no date. Left to itself, `Date.parse` finds one in almost anything. */
function dateOf(text: string): number {
  return /^[A-Z][a-z]+, \S.* GMT$/.test(text) ? Date.parse(text) : NaN;
}
