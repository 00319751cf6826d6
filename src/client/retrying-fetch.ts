import { SYSTEM_CLOCK, type Clock } from './clock.js';
import { NoAnswer } from './no-answer.js';
import { checkedPolicy, DEFAULT_POLICY, type RetryPolicy } from './retry-policy.js';
import { delayAfter, isPassing, isRepeatable, type Outcome } from './retry-rule.js';

export interface RetryOptions extends Partial<RetryPolicy> {
  readonly clock?: Clock;
  /** From 0 to 1, as `Math.random`. */
  readonly random?: () => number;
  /** Told before each wait. */
  readonly onRetry?: (retry: Retry) => void;
}

export interface Retry {
  /** Number of the try that just ended, from 1. */
  readonly attempt: number;
  /** Milliseconds until the next. */
  readonly delay: number;
  readonly outcome: Outcome;
}

/**
 * `fetch` that sends a request again while that may help and cannot harm: the same bytes under the same key, until
 * there is an answer that stays, the tries are used up, or the deadline would pass.
 *
 * The function that it gives returns the last answer, whatever its status. @throws NoAnswer where there was none; and
 * what the caller aborted the request with
 *
 * @throws RangeError where the options contradict each other
 */
export function retryingFetch({
  clock = SYSTEM_CLOCK,
  random = Math.random,
  onRetry,
  ...options
}: RetryOptions) {
  const policy = checkedPolicy({ ...DEFAULT_POLICY, ...options });

  return async (request: Request): Promise<Response> => {
    const deadline = clock.now() + policy.deadline;
    for (let attempt = 1; ; attempt++) {
      const timeout = Math.min(policy.attemptTimeout, deadline - clock.now());
      const outcome = await tryOnce(request, clock.timeout(timeout));
      const delay = delayAfter(outcome, attempt, policy, clock.now(), random());
      const isLast = attempt >= policy.maxAttempts || clock.now() + delay >= deadline;
      if (isLast || !isRepeatable(request) || !isPassing(outcome)) return answerOf(outcome, request, attempt);
      onRetry?.({ attempt, delay, outcome });
      await clock.sleep(delay, request.signal);
    }
  };
}

/** @throws what the caller aborted the request with: they want no answer any more */
async function tryOnce(request: Request, timeout: AbortSignal): Promise<Outcome> {
  try {
    const signal = AbortSignal.any([request.signal, timeout]);
    return { response: await whole(await fetch(request.clone(), { signal })) };
  } catch (error) {
    request.signal.throwIfAborted();
    return { error };
  }
}

/** An answer that breaks off in the middle is none: it is read to its end before anyone sees it. */
async function whole(response: Response): Promise<Response> {
  const bytes = await response.arrayBuffer();
  return new Response(bytes.byteLength === 0 ? null : bytes, response);
}

function answerOf(outcome: Outcome, { headers }: Request, attempts: number): Response {
  if ('response' in outcome) return outcome.response;
  throw new NoAnswer(headers.get('Idempotency-Key'), attempts, outcome.error);
}
