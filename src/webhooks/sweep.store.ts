import { Injectable } from '@nestjs/common';
import { Database, statement } from '../database/transaction.js';
import type { ChargeNews, RefundNews } from '../payments/payment-event.js';

/** A process that dies in the middle leaves the sweep to another after this long. */
const LEASE_SECONDS = 3_600;

/** What the provider says, beside what we have. */
@Injectable()
export class SweepStore {
  constructor(private readonly database: Database) {}

  /** @returns false where it is not due, or another process is at it */
  async begin(): Promise<boolean> {
    return (await this.database.query(BEGIN, [LEASE_SECONDS])).length === 1;
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
  `UPDATE sweeps SET due_at = now() + make_interval(secs => $1)
   WHERE name = 'payments' AND due_at <= now() RETURNING name`,
);

const END = statement(
  'sweep_end',
  `UPDATE sweeps SET due_at = now() + make_interval(secs => $1) WHERE name = 'payments'`,
);

const compare = (table: 'charges' | 'refunds') =>
  `SELECT theirs.place FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::int[])
       AS theirs (tenant_id, id, provider_id, status, amount, currency, place)
     JOIN tenants ON tenants.id = theirs.tenant_id
     LEFT JOIN ${table} AS ours ON ours.tenant_id = theirs.tenant_id AND ours.id = theirs.id
    WHERE (ours.provider_id, ours.status, ours.amount, ours.currency)
      IS DISTINCT FROM (theirs.provider_id, theirs.status, theirs.amount, theirs.currency)`;

const CHARGES = statement('sweep_compare_charges', compare('charges'));
const REFUNDS = statement('sweep_compare_refunds', compare('refunds'));
