/** So that an hour of one process does not close another one for an hour: processes that share are some dozens. */
const LONGEST_DEBT_SECONDS = 30;

interface Bucket {
  tokens: number;
  /** What time has brought since `spend`, and there was no room for. */
  lost: number;
  /** By `performance.now()`. */
  at: number;
}

/**
 * So many requests a second for each name, and a second's worth at once. What is spent elsewhere is taken out as well, and
 * leaves a bucket in debt where it was too much.
 */
export class TokenBuckets {
  /** In the order of their use. */
  private readonly buckets = new Map<string, Bucket>();

  /** @param most names that are remembered; the one that has been quiet for longest makes room, and begins anew */
  constructor(
    private readonly perSecond: number,
    private readonly most: number,
  ) {}

  /** @returns 0 where there is room for one more; else after how many seconds there will be */
  take(name: string): number {
    const bucket = this.filled(name);
    if (bucket.tokens < 1) return (1 - bucket.tokens) / this.perSecond;
    bucket.tokens -= 1;
    return 0;
  }

  /** @param tokens spent elsewhere since the last time; those that were lost here in between are none too many */
  spend(name: string, tokens: number): void {
    const bucket = this.filled(name);
    const tooMany = Math.max(0, tokens - bucket.lost);
    bucket.tokens = Math.max(-this.perSecond * LONGEST_DEBT_SECONDS, bucket.tokens - tooMany);
    bucket.lost = 0;
  }

  private filled(name: string): Bucket {
    const now = performance.now();
    const bucket = this.buckets.get(name) ?? { tokens: this.perSecond, lost: 0, at: now };
    const full = bucket.tokens + ((now - bucket.at) / 1_000) * this.perSecond;
    bucket.tokens = Math.min(this.perSecond, full);
    bucket.lost += full - bucket.tokens;
    bucket.at = now;
    this.buckets.delete(name);
    this.buckets.set(name, bucket);
    if (this.buckets.size > this.most) this.buckets.delete(this.buckets.keys().next().value!);
    return bucket;
  }
}
