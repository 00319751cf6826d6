import { Injectable } from '@nestjs/common';
import { acrossTenants, statement } from '../database/statement.js';
import { Database } from '../database/transaction.js';
import type { ChargeNews, RefundNews } from '../payments/payment-event.js';

/** A process that dies in the middle leaves the sweep to another after this long. */
const LEASE_SECONDS = 3_600;

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
    const places = await Promise.all([
      this.database.query<{ place: number }>(CHARGES, columnsOf(news, 'charge')),
      this.database.query<{ place: number }>(REFUNDS, columnsOf(news, 'refund')),
    ]);
    return places.flat().map(({ place }) => news[place]!);
  }

  /** Notes of what has succeeded here that the provider agrees. */
  async confirm(news: readonly (ChargeNews | RefundNews)[]): Promise<void> {
    await Promise.all([
      this.database.query(CONFIRM_CHARGES, columnsOf(news, 'charge')),
      this.database.query(CONFIRM_REFUNDS, columnsOf(news, 'refund')),
    ]);
  }
}

/** One array per column, and where each stands in `news`. */
function columnsOf(news: readonly (ChargeNews | RefundNews)[], about: 'charge' | 'refund'): unknown[] {
  const rows = news.map((each, place) => ({ ...each, place })).filter((each) => each.about === about);
  return [
    rows.map(({ tenantId }) => tenantId),
    rows.map((each) => ('chargeId' in each ? each.chargeId : each.refundId)),
    rows.map(({ providerId }) => providerId),
    rows.map(({ outcome }) => outcome.status),
    rows.map(({ amount }) => amount),
    rows.map(({ currency }) => currency),
    rows.map(({ place }) => place),
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
const THEIRS = `unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::int[])
  AS theirs (tenant_id, id, provider_id, status, amount, currency, place)`;

type Table = 'charges' | 'refunds';

const compare = (table: Table) =>
  acrossTenants(
    statement(
      `sweep_compare_${table}`,
      `SELECT theirs.place FROM ${THEIRS}
       JOIN tenants ON tenants.id = theirs.tenant_id
       LEFT JOIN ${table} AS ours ON ours.tenant_id = theirs.tenant_id AND ours.id = theirs.id
      WHERE (ours.provider_id, ours.status, ours.amount, ours.currency)
        IS DISTINCT FROM (theirs.provider_id, theirs.status, theirs.amount, theirs.currency)`,
    ),
  );

/** A row that somebody works on is passed over, and asked about by its name. */
const confirm = (table: Table) =>
  acrossTenants(
    statement(
      `sweep_confirm_${table}`,
      `WITH agreed AS MATERIALIZED (
       SELECT ours.tenant_id, ours.id FROM ${THEIRS}
         JOIN ${table} AS ours ON ours.tenant_id = theirs.tenant_id AND ours.id = theirs.id
        WHERE ours.status = 'succeeded' AND ours.confirmed_at IS NULL
          AND (ours.provider_id, ours.status, ours.amount, ours.currency)
            = (theirs.provider_id, theirs.status, theirs.amount, theirs.currency)
          FOR UPDATE OF ours SKIP LOCKED
     )
     UPDATE ${table} SET confirmed_at = now() WHERE (tenant_id, id) IN (SELECT tenant_id, id FROM agreed)`,
    ),
  );

const CHARGES = compare('charges');
const REFUNDS = compare('refunds');
const CONFIRM_CHARGES = confirm('charges');
const CONFIRM_REFUNDS = confirm('refunds');
