import { Injectable, Logger } from '@nestjs/common';
import type { Course } from './course.js';
import type { Attempt } from './attempt.js';
import { KeyMetrics, type AttemptEnd } from './key-metrics.js';
import { LeaseKeeper } from './lease-keeper.js';
import type { Reply } from './operation.js';
import { KeyTaken, LeaseLost } from './ownership.js';

/**
 * What goes with every attempt, whoever makes it: its lease is kept while it runs, and one line tells how it ended.
 * That names a key by its row, never by its text, and holds no value of the request.
 *
 * `finished`: with a reply. `given_up`: the key is let go of at its recovery point. `review`: a person must decide.
 * `lost`: somebody else had the key first, or has it now. `refused`: it ended before anything was written.
 */
@Injectable()
export class AttemptKeeper {
  private readonly logger = new Logger('Attempt');

  constructor(
    private readonly leases: LeaseKeeper,
    private readonly metrics: KeyMetrics,
  ) {}

  async keep(course: Course, work: () => Promise<Reply>): Promise<Reply> {
    const first = course.attempt.unclaimed !== undefined;
    const start = performance.now();
    try {
      const reply = await this.leases.hold(course.attempt, work);
      this.over(course, first, start, 'finished', reply.status);
      return reply;
    } catch (error) {
      this.over(course, first, start, endOf(course, error));
      throw error;
    }
  }

  /** Stops renewing its lease, as if the process had stopped. */
  letGo(attempt: Attempt): void {
    this.leases.letGo(attempt);
  }

  private over(course: Course, first: boolean, start: number, end: AttemptEnd, status?: number): void {
    const { attempt, operation, options, passed, early } = course;
    const milliseconds = performance.now() - start;
    this.metrics.attempt(operation.name, first, end, milliseconds);
    this.logger[end === 'given_up' || end === 'review' ? 'warn' : 'log']({
      msg: 'attempt',
      tenant: attempt.execution.tenantId,
      keyId: attempt.execution.id,
      operation: operation.name,
      by: options.abandoned ? 'completer' : 'request',
      first,
      passed,
      recoveryPoint: end === 'finished' ? 'finished' : attempt.recoveryPoint,
      end,
      ...(status !== undefined && { status }),
      ms: Math.round(milliseconds * 10) / 10,
      ...early,
    });
  }
}

function endOf({ attempt, early }: Course, error: unknown): AttemptEnd {
  if (early?.review) return 'review';
  if (error instanceof KeyTaken || error instanceof LeaseLost) return 'lost';
  return attempt.unclaimed ? 'refused' : 'given_up';
}
