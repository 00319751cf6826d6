import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Claim, Mark, Outcome, OutboxStore } from './outbox.store.js';

/**
 * Marks the messages of one claim while their deliveries go on. What is settled during one statement shares the
 * next: slow deliveries are marked one by one, so that a crash repeats few of them; fast ones in large batches.
 */
export class Marks {
  readonly counts = { sent: 0, failed: 0, dead: 0, released: 0, lost: 0 };
  private waiting: Mark[] = [];
  private writing: Promise<void> | undefined;
  private failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly store: OutboxStore,
    private readonly claim: Claim,
  ) {}

  add(id: string, outcome: Outcome): void {
    this.waiting.push({ id, outcome });
    this.writing ??= this.write();
  }

  /** A mark could not be written: what is delivered from now on would only be delivered again. */
  get broken(): boolean {
    return this.failure !== undefined;
  }

  /** Waits for every mark. @throws what the database threw; unmarked messages come back when the lease ends */
  async written(): Promise<void> {
    await this.writing;
    if (this.failure) throw this.failure.error;
  }

  private async write(): Promise<void> {
    try {
      while (this.waiting.length > 0 && !this.broken) {
        await nextTurn(); // what settles in this one comes along
        await this.writeBatch(this.waiting.splice(0));
      }
    } catch (error) {
      this.failure = { error };
    }
    this.writing = undefined;
  }

  private async writeBatch(marks: readonly Mark[]): Promise<void> {
    const marked = await this.store.mark(this.claim, marks);
    for (const { id, outcome } of marks) this.counts[marked.has(id) ? outcome.kind : 'lost'] += 1;
  }
}
