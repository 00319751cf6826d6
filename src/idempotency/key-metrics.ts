import { Injectable } from '@nestjs/common';
import { Problem } from '../http/problem.js';
import { Metrics } from '../metrics/metrics.js';

/** How an attempt ended: see `AttemptKeeper`. */
export type AttemptEnd = 'finished' | 'given_up' | 'review' | 'lost' | 'refused';

/** What requests with a key were answered, and how the attempts at their keys went. */
@Injectable()
export class KeyMetrics {
  private readonly requests;
  private readonly attempts;
  private readonly seconds;

  constructor(metrics: Metrics) {
    this.requests = metrics.counter('checkout_keyed_requests_total', 'Requests with a key, by their answer', [
      'operation',
      'answer',
    ]);
    this.attempts = metrics.counter(
      'checkout_attempts_total',
      'Attempts at keys; those that are no first ones took the key over from another',
      ['operation', 'first', 'end'],
    );
    this.seconds = metrics.histogram('checkout_attempt_seconds', 'How long attempts took, calls included', [
      'operation',
    ]);
  }

  /** Counts what `answer` comes to, and changes nothing about it. */
  async counting<Answer extends { replayed: boolean }>(
    operation: string,
    answer: () => Promise<Answer>,
  ): Promise<Answer> {
    try {
      const answered = await answer();
      this.requests.inc({ operation, answer: answered.replayed ? 'replayed' : 'executed' });
      return answered;
    } catch (error) {
      this.requests.inc({ operation, answer: kindOf(error) });
      throw error;
    }
  }

  attempt(operation: string, first: boolean, end: AttemptEnd, milliseconds: number): void {
    this.attempts.inc({ operation, first: String(first), end });
    this.seconds.observe({ operation }, milliseconds / 1_000);
  }
}

/** The answers that say something of the key itself. */
const OF_THE_KEY: Readonly<Record<string, string>> = {
  idempotency_key_in_use: 'in_use',
  idempotency_key_mismatch: 'mismatch',
  idempotency_key_under_review: 'under_review',
  provider_unavailable: 'provider_unavailable',
  outcome_unknown: 'outcome_unknown',
};

function kindOf(error: unknown): string {
  if (!(error instanceof Problem)) return 'failed';
  const { code, status } = error.details;
  return OF_THE_KEY[code] ?? (status < 500 ? 'refused' : 'failed');
}
