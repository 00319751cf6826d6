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
  /** How many answers had each status. */
  readonly statuses: Readonly<Record<string, number>>;
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
  /** Requests a second, of all connections together; as many as are answered where it is left out. */
  readonly rate?: number;
  /** Ends after so many requests, whatever `seconds` says. */
  readonly amount?: number;
  /** Sees each answer; what it costs is the load's, so only where it is needed. */
  readonly onAnswer?: (status: number, headers: Readonly<Record<string, string>>) => void;
}

export async function load({
  url,
  connections,
  seconds,
  body,
  headers,
  key,
  status,
  rate,
  amount,
  onAnswer,
}: Load): Promise<Window> {
  const keyOf = typeof key === 'string' ? () => key : key;
  const all = { ...headers, 'Content-Type': 'application/json' };
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    timeout: 30,
    ...(rate !== undefined && { overallRate: rate }),
    ...(amount !== undefined && { amount }),
    requests: [
      {
        method: 'POST',
        body,
        setupRequest: (request) => ({ ...request, headers: { ...all, 'Idempotency-Key': keyOf() } }),
        ...(onAnswer && { onResponse: (code, _body, _context, got) => onAnswer(code, got as never) }),
      },
    ],
  });
  const { latency, statusCodeStats, errors, timeouts, duration } = result;
  const statuses = Object.fromEntries(
    Object.entries(statusCodeStats ?? {}).map(([code, { count = 0 }]) => [code, count]),
  );
  const answered = statuses[status] ?? 0;
  const others = Object.values(statuses).reduce((sum, count) => sum + count, 0) - answered;
  return {
    perSecond: answered / duration,
    p50: latency.p50,
    p99: latency.p99,
    longest: latency.max,
    answered,
    wrong: others + errors + timeouts,
    statuses,
  };
}
