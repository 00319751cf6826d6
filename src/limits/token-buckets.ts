interface Bucket {
  tokens: number;
  /** By `performance.now()`. */
  at: number;
}

/**
 * So many requests a second for each name, and a second's worth at once. What is spent elsewhere can be taken out as well:
 * a bucket is then in debt for a second at most.
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

  spend(name: string, tokens: number): void {
    const bucket = this.filled(name);
    bucket.tokens = Math.max(-this.perSecond, bucket.tokens - tokens);
  }

  private filled(name: string): Bucket {
    const now = performance.now();
    const bucket = this.buckets.get(name) ?? { tokens: this.perSecond, at: now };
    bucket.tokens = Math.min(this.perSecond, bucket.tokens + ((now - bucket.at) / 1_000) * this.perSecond);
    bucket.at = now;
    this.buckets.delete(name);
    this.buckets.set(name, bucket);
    if (this.buckets.size > this.most) this.buckets.delete(this.buckets.keys().next().value!);
    return bucket;
  }
}
