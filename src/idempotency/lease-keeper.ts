import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Attempt } from './attempt.js';
import { EngineSettings } from './engine-settings.js';
import { IdempotencyKeyStore } from './idempotency-key.store.js';

/**
 * Renews the leases of the attempts that run in this process, at a third of the lease: one renewal may be lost
 * before a key changes hands. After the maximum hold an attempt is left to its fate: it hangs, and somebody else
 * should go on.
 */
@Injectable()
export class LeaseKeeper implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(LeaseKeeper.name);
  private readonly held = new Set<Attempt>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: IdempotencyKeyStore,
    private readonly settings: EngineSettings,
  ) {}

  onModuleInit(): void {
    this.timer = setInterval(() => void this.renewAll(), (this.settings.timings.lease * 1_000) / 3);
    this.timer.unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Keeps the lease of `attempt` alive for as long as `work` runs. */
  async hold<T>(attempt: Attempt, work: () => Promise<T>): Promise<T> {
    this.held.add(attempt);
    try {
      return await work();
    } finally {
      this.held.delete(attempt);
    }
  }

  /** Stops renewing, as if the process had stopped. */
  letGo(attempt: Attempt): void {
    this.held.delete(attempt);
  }

  async renewAll(): Promise<void> {
    const byTenant = new Map<string, Attempt[]>();
    for (const attempt of this.held) {
      const { tenantId } = attempt.execution;
      if (this.isDue(attempt)) byTenant.set(tenantId, [...(byTenant.get(tenantId) ?? []), attempt]);
    }
    for (const [tenantId, attempts] of byTenant) await this.renew(tenantId, attempts);
  }

  /** Not brand new, and within the maximum hold; most requests end before the first renewal. */
  private isDue(attempt: Attempt): boolean {
    const { lease, maximumHold } = this.settings.timings;
    const heldFor = (performance.now() - attempt.startedAt) / 1_000;
    return attempt.unclaimed === undefined && heldFor >= lease / 6 && heldFor < maximumHold;
  }

  private async renew(tenantId: string, attempts: Attempt[]): Promise<void> {
    try {
      await this.store.renew(tenantId, attempts);
    } catch (error) {
      // The next round tries again; should all fail, the lease ends and the fence refuses what comes late.
      this.logger.warn(`Leases were not renewed: ${(error as Error).message}`);
    }
  }
}
