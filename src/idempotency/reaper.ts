import { Injectable } from '@nestjs/common';
import { ReaperStore, type Kept } from './reaper.store.js';

/** Rows deleted in one round. */
export type ReaperCounts = Record<Kept['name'], number>;

/**
 * Deletes what has been kept long enough: finished keys past their retention, sent and applied messages. Whether a key
 * has expired is decided when it is read, so a client never sees whether the reaper has come by. It deletes rows of
 * their own tables only: order, charge and derived key stay as they are.
 */
@Injectable()
export class Reaper {
  constructor(private readonly store: ReaperStore) {}

  /** One batch of each kind for each tenant; what is left is for the next round, which then follows at once. */
  async runOnce(signal: AbortSignal = new AbortController().signal): Promise<ReaperCounts> {
    const counts = { keys: 0, outbox: 0, inbox: 0 };
    for (const kept of this.store.kept) {
      for (const tenantId of await this.store.tenantsWith(kept)) {
        if (signal.aborted) return counts;
        counts[kept.name] += await this.store.remove(kept, tenantId);
      }
    }
    return counts;
  }
}
