import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { rateLimited } from '../http/problems.js';
import { Metrics } from '../metrics/metrics.js';
import { networkOf } from './network-of.js';
import { SharedUse } from './shared-use.js';
import { TokenBuckets } from './token-buckets.js';

/** Some 10 MB of buckets. */
const MOST_NAMES = 50_000;

/**
 * How many requests a tenant, and an address, may send. Asked before the key is: a request that is refused here has left
 * no trace, and its key is as it was. Decided by this process alone, without waiting for anybody; what a tenant sends to
 * the others is taken out of its bucket within a second or so.
 */
@Injectable()
export class Limits {
  private readonly tenants;
  private readonly addresses;
  private readonly refusals;

  constructor(
    { tenantRequestsPerSecond: ofTenant, addressRequestsPerSecond: ofAddress }: Config,
    private readonly sharedUse: SharedUse,
    metrics: Metrics,
  ) {
    this.tenants = ofTenant > 0 ? new TokenBuckets(ofTenant, MOST_NAMES) : undefined;
    this.addresses = ofAddress > 0 ? new TokenBuckets(ofAddress, MOST_NAMES) : undefined;
    sharedUse.onUseElsewhere((...use) => this.tenants?.spend(...use));
    this.refusals = metrics.counter('checkout_rate_limited_total', 'Requests refused by a rate limit', [
      'of',
    ]);
  }

  /** Whether there is a limit for them. */
  get ofAddresses(): boolean {
    return this.addresses !== undefined;
  }

  /** @throws Problem 429 `rate_limited` */
  tenant(id: string): void {
    if (!this.tenants) return;
    this.admit('tenant', this.tenants.take(id));
    this.sharedUse.note(id);
  }

  /** @throws Problem 429 `rate_limited` */
  address(ip: string): void {
    if (this.addresses) this.admit('address', this.addresses.take(networkOf(ip)));
  }

  private admit(of: 'tenant' | 'address', seconds: number): void {
    if (seconds === 0) return;
    this.refusals.inc({ of });
    throw rateLimited(of, Math.ceil(seconds));
  }
}
