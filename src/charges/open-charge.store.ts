import { Injectable } from '@nestjs/common';
import { Database, statement, type Statement } from '../database/transaction.js';
import type { ChargeTerms } from '../payments/payment-provider.js';

/** A charge that waits for the customer or the bank. */
export interface OpenCharge {
  readonly terms: ChargeTerms;
  readonly providerId: string;
  /** The customer has had their time: the payment is to be ended. */
  readonly overdue: boolean;
}

/** The reconciler's statements. Every time in them is the database's. */
@Injectable()
export class OpenChargeStore {
  constructor(private readonly database: Database) {}

  async tenantsWithDueCharges(): Promise<string[]> {
    const rows = await this.database.query<{ tenantId: string }>(DUE_TENANTS);
    return rows.map(({ tenantId }) => tenantId);
  }

  /**
   * Takes charges that are due, and puts their next poll off: half a minute, doubling up to an hour, so that a
   * customer who is at the bank's page now is found soon, and a payment that takes days costs a few calls a day.
   * Whoever dies after this has only delayed them.
   */
  async claim(tenantId: string, limit: number, overdueHours: number): Promise<OpenCharge[]> {
    const rows = await this.database.query<ClaimedRow>(CLAIM, [tenantId, limit, overdueHours]);
    return rows.map(({ providerId, overdue, amount, ...ids }) => ({
      terms: { tenantId, ...ids, amount: Number(amount) },
      providerId,
      overdue,
    }));
  }
}

interface ClaimedRow extends Omit<ChargeTerms, 'tenantId' | 'amount'> {
  /** pg hands a bigint over as text. */
  readonly amount: string;
  readonly providerId: string;
  readonly overdue: boolean;
}

/** Without a name, so that each is planned for the charges as they are now. */
const planned = (text: string): Statement => statement('', text);

/** Hops from tenant to tenant along charges_open. */
const DUE_TENANTS = planned(
  `WITH RECURSIVE earliest AS (
     (SELECT tenant_id, next_poll_at FROM charges
       WHERE status IN ('requires_action', 'processing')
       ORDER BY tenant_id, next_poll_at LIMIT 1)
     UNION ALL
     SELECT following.tenant_id, following.next_poll_at
       FROM earliest, LATERAL (
         SELECT tenant_id, next_poll_at FROM charges
          WHERE status IN ('requires_action', 'processing') AND tenant_id > earliest.tenant_id
          ORDER BY tenant_id, next_poll_at LIMIT 1) AS following
   )
   SELECT tenant_id AS "tenantId" FROM earliest WHERE next_poll_at <= now()`,
);

/** Only a customer's part can be overdue: what the bank takes its time for cannot be ended. */
const CLAIM = planned(
  `WITH due AS MATERIALIZED (
     SELECT tenant_id, id FROM charges
      WHERE tenant_id = $1 AND status IN ('requires_action', 'processing') AND next_poll_at <= now()
      ORDER BY next_poll_at
      LIMIT $2
      FOR UPDATE SKIP LOCKED
   )
   UPDATE charges
      SET polls = polls + 1, next_poll_at = now() + make_interval(secs => least(3600, 30 * 2 ^ least(polls, 10)))
    WHERE (tenant_id, id) IN (SELECT tenant_id, id FROM due)
   RETURNING id AS "chargeId", order_id AS "orderId", amount, currency, provider_id AS "providerId",
     status = 'requires_action' AND created_at <= now() - make_interval(hours => $3) AS overdue`,
);
