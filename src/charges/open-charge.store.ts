import { Injectable } from '@nestjs/common';
import { Database } from '../database/transaction.js';
import type { ChargeTerms } from '../payments/payment-provider.js';
import { pollStatements } from '../payments/polling.js';

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

  async tenantsWithDue(): Promise<string[]> {
    const rows = await this.database.query<{ tenantId: string }>(POLLS.tenants);
    return rows.map(({ tenantId }) => tenantId);
  }

  /** Takes charges that are due, and puts their next poll off. */
  async claim(tenantId: string, limit: number, overdueHours: number): Promise<OpenCharge[]> {
    const rows = await this.database.query<ClaimedRow>(POLLS.claim, [tenantId, limit, overdueHours]);
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

/**
 * Only a customer's part can be overdue: what the bank takes its time for cannot be ended. Of an order that is canceled
 * nothing is waited for.
 */
const POLLS = pollStatements({
  table: 'charges',
  open: "status IN ('requires_action', 'processing')",
  returning: `id AS "chargeId", order_id AS "orderId", amount, currency, provider_id AS "providerId",
    status = 'requires_action' AND (created_at <= (SELECT now() - make_interval(hours => $3)) OR EXISTS (
      SELECT FROM orders WHERE orders.tenant_id = $1 AND orders.id = polled.order_id AND orders.status = 'canceled'
    )) AS overdue`,
});
