import { Injectable } from '@nestjs/common';
import { Metrics } from '../metrics/metrics.js';
import type { Counts } from './background-loop.js';

/** What background jobs come to, whichever they are. */
@Injectable()
export class LoopMetrics {
  private readonly items;
  private readonly failures;

  constructor(metrics: Metrics) {
    this.items = metrics.counter('checkout_job_items_total', 'What became of what background jobs took up', [
      'job',
      'result',
    ]);
    this.failures = metrics.counter('checkout_job_failures_total', 'Rounds of background jobs that threw', [
      'job',
    ]);
  }

  round(job: string, counts: Counts): void {
    for (const [result, count] of Object.entries(counts)) this.items.inc({ job, result }, count);
  }

  failure(job: string): void {
    this.failures.inc({ job });
  }
}
