import autocannon from 'autocannon';

/** What one window of load came to. */
export interface Window {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  readonly answered: number;
  /** Answers by status class other than what was expected, and connections that broke. */
  readonly wrong: number;
}

export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A key for each request; the same one for all where it is a text. */
  readonly key: string | (() => string);
  /** The status that every answer must have. */
  readonly status: number;
}

export async function load({ url, connections, seconds, body, headers, key, status }: Load): Promise<Window> {
  const keyOf = typeof key === 'string' ? () => key : key;
  const all = { ...headers, 'Content-Type': 'application/json' };
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    timeout: 30,
    requests: [
      {
        method: 'POST',
        body,
        setupRequest: (request) => ({ ...request, headers: { ...all, 'Idempotency-Key': keyOf() } }),
      },
    ],
  });
  const { latency, statusCodeStats, errors, timeouts, duration } = result;
  const answered = statusCodeStats?.[`${status}`]?.count ?? 0;
  const others =
    Object.values(statusCodeStats ?? {}).reduce((sum, { count = 0 }) => sum + count, 0) - answered;
  return {
    perSecond: answered / duration,
    p50: latency.p50,
    p99: latency.p99,
    longest: latency.max,
    answered,
    wrong: others + errors + timeouts,
  };
}
