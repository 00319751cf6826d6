import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { acrossTenants, statement } from '../database/statement.js';
import { Database } from '../database/transaction.js';

const EVERY_MS = 1_000;

/** What was counted longer ago than this says nothing of the present. */
const STALE_MS = 60_000;

/** All processes' requests of a tenant, as they stood when this one last asked. */
interface Total {
  readonly used: number;
  readonly at: number;
}

/** Told how many requests the other processes have had since the last time; 0 where that is not known. */
type Spend = (tenantId: string, requests: number) => void;

/**
 * What tenants send to the other processes, learned once a second, in one statement for all tenants that have sent
 * anything here. No request waits for it; while the database does not answer, each process goes by what it sees itself.
 */
@Injectable()
export class SharedUse implements OnApplicationShutdown {
  private readonly logger = new Logger(SharedUse.name);
  /** Requests here, since they were last told. */
  private own = new Map<string, number>();
  private totals = new Map<string, Total>();
  private timer: NodeJS.Timeout | undefined;
  private spend: Spend = () => undefined;

  constructor(private readonly database: Database) {}

  onUseElsewhere(spend: Spend): void {
    this.spend = spend;
  }

  /** One request more. */
  note(tenantId: string): void {
    this.own.set(tenantId, (this.own.get(tenantId) ?? 0) + 1);
    this.wait();
  }

  /** Never throws. One question at a time: answers that overtake each other would count twice. */
  async reconcile(): Promise<void> {
    const own = this.own;
    this.own = new Map();
    if (own.size > 0) await this.ask(own);
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.own.size > 0) this.wait();
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  private wait(): void {
    this.timer ??= setTimeout(() => void this.reconcile(), EVERY_MS).unref();
  }

  private async ask(own: ReadonlyMap<string, number>): Promise<void> {
    try {
      const totals = await this.told(own);
      for (const [tenantId, requests] of own)
        this.spend(tenantId, this.elsewhere(tenantId, totals.get(tenantId), requests));
      this.totals = new Map([...this.recent(), ...totals]);
    } catch (error) {
      this.logger.debug(`Not shared: ${(error as Error).message}`); // nor made up for: that second is over
    }
  }

  private recent(): [string, Total][] {
    const since = performance.now() - STALE_MS;
    return [...this.totals].filter(([, { at }]) => at >= since);
  }

  private async told(own: ReadonlyMap<string, number>): Promise<Map<string, Total>> {
    const values = [[...own.keys()], [...own.values()]];
    const rows = await this.database.query<{ tenant: string; used: number }>(ADD, values);
    const at = performance.now();
    return new Map(rows.map(({ tenant, used }) => [tenant, { used, at }]));
  }

  private elsewhere(tenantId: string, now: Total | undefined, own: number): number {
    const before = this.totals.get(tenantId);
    if (!before || !now || now.at - before.at > STALE_MS) return 0;
    return Math.max(0, now.used - before.used - own);
  }
}

/** In one order, so that two processes do not wait for each other. A crash loses the rows: the table is not logged. */
const ADD = acrossTenants(
  statement(
    'tenant_use_add',
    `INSERT INTO tenant_use (tenant_id, used)
     SELECT tenant_id, used FROM unnest($1::text[], $2::bigint[]) AS more (tenant_id, used) ORDER BY tenant_id
   ON CONFLICT (tenant_id) DO UPDATE SET used = tenant_use.used + excluded.used
   RETURNING tenant_id AS tenant, used::float8 AS used`,
  ),
);
