import { Injectable } from '@nestjs/common';
import { inParallel } from '../background/in-parallel.js';
import { statement, type Statement } from '../database/statement.js';
import { Database } from '../database/transaction.js';
import type { ChargeNews, RefundNews } from '../payments/payment-event.js';

/** A process that dies in the middle leaves the sweep to another after this long. */
const LEASE_SECONDS = 3_600;

const TENANTS_AT_ONCE = 4;

/** What the provider says, beside what we have. */
@Injectable()
export class SweepStore {
  constructor(private readonly database: Database) {}

  /** @returns since when it runs, by the database; undefined where it is not due, or another process is at it */
  async begin(): Promise<string | undefined> {
    const [sweep] = await this.database.query<{ begun: string }>(BEGIN, [LEASE_SECONDS]);
    return sweep?.begun;
  }

  async end(nextInSeconds: number): Promise<void> {
    await this.database.query(END, [nextInSeconds]);
  }

  /** @returns those of `news` that are not what we have; tenants of other deployments are left out */
  async differing<News extends ChargeNews | RefundNews>(news: readonly News[]): Promise<News[]> {
    const differing = new Set<News>();
    await inParallel(TENANTS_AT_ONCE, alike(news), async (some) => {
      const rows = await this.database.query<{ place: number }>(
        STATEMENTS[some[0]!.about].compare,
        columns(some),
      );
      for (const { place } of rows) differing.add(some[place - 1]!);
    });
    return news.filter((each) => differing.has(each));
  }

  /** Notes of what has succeeded here that the provider agrees. */
  async confirm(news: readonly (ChargeNews | RefundNews)[]): Promise<void> {
    await inParallel(TENANTS_AT_ONCE, alike(news), async (some) => {
      await this.database.query(STATEMENTS[some[0]!.about].confirm, columns(some));
    });
  }
}

/** Those of one tenant and of one kind are asked about together: their rows are on one server, in one table. */
function alike<News extends ChargeNews | RefundNews>(news: readonly News[]): News[][] {
  const groups = new Map<string, News[]>();
  for (const each of news) {
    const name = `${each.about} ${each.tenantId}`;
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  return [...groups.values()];
}

/** The tenant of all of them, and one array per column. */
function columns(news: readonly (ChargeNews | RefundNews)[]): unknown[] {
  return [
    news[0]!.tenantId,
    news.map((each) => ('chargeId' in each ? each.chargeId : each.refundId)),
    news.map(({ providerId }) => providerId),
    news.map(({ outcome }) => outcome.status),
    news.map(({ amount }) => amount),
    news.map(({ currency }) => currency),
  ];
}

const BEGIN = statement(
  'sweep_begin',
  `WITH begun AS (UPDATE sweeps SET due_at = now() + make_interval(secs => $1)
     WHERE name = 'payments' AND due_at <= now() RETURNING 1)
   SELECT now()::text AS begun FROM begun`,
);

const END = statement(
  'sweep_end',
  `UPDATE sweeps SET due_at = now() + make_interval(secs => $1) WHERE name = 'payments'`,
);

/** What the provider says, as rows. */
const THEIRS = `unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
  WITH ORDINALITY AS theirs (id, provider_id, status, amount, currency, place)`;

const AS_OURS = `ours.tenant_id = $1 AND ours.id = theirs.id
  AND (ours.provider_id, ours.status, ours.amount, ours.currency) = (theirs.provider_id, theirs.status, theirs.amount, theirs.currency)`;

function statementsOn(table: 'charges' | 'refunds'): Readonly<Record<'compare' | 'confirm', Statement>> {
  return {
    compare: statement(
      `sweep_compare_${table}`,
      `SELECT place::int FROM ${THEIRS}
        WHERE NOT EXISTS (SELECT FROM ${table} AS ours WHERE ${AS_OURS}) AND EXISTS (SELECT FROM tenants WHERE id = $1)`,
    ),
    // A row that somebody works on is passed over, and asked about by its name.
    confirm: statement(
      `sweep_confirm_${table}`,
      `WITH agreed AS MATERIALIZED (
         SELECT ours.id FROM ${THEIRS} JOIN ${table} AS ours ON ${AS_OURS}
          WHERE ours.status = 'succeeded' AND ours.confirmed_at IS NULL
            FOR UPDATE OF ours SKIP LOCKED
       )
       UPDATE ${table} SET confirmed_at = now() WHERE tenant_id = $1 AND id IN (SELECT id FROM agreed)`,
    ),
  };
}

const STATEMENTS = { charge: statementsOn('charges'), refund: statementsOn('refunds') };
