import { Injectable } from '@nestjs/common';
import { Database } from '../database/transaction.js';
import type { RefundTerms } from '../payments/payment-provider.js';
import { pollStatements } from '../payments/polling.js';

/** A refund that waits for the bank, or for the customer's bank details. */
export interface OpenRefund {
  readonly terms: RefundTerms;
  /** The provider's name of the refund. */
  readonly providerId: string;
}

/** The refund reconciler's statements. Every time in them is the database's. */
@Injectable()
export class OpenRefundStore {
  constructor(private readonly database: Database) {}

  async tenantsWithDue(): Promise<string[]> {
    const rows = await this.database.query<{ tenantId: string }>(POLLS.tenants);
    return rows.map(({ tenantId }) => tenantId);
  }

  /** Takes refunds that are due, and puts their next poll off. */
  async claim(tenantId: string, limit: number): Promise<OpenRefund[]> {
    const rows = await this.database.query<ClaimedRow>(POLLS.claim, [tenantId, limit]);
    return rows.map(({ refundId, paymentId, amount, currency, providerId }) => ({
      terms: { tenantId, refundId, providerId: paymentId, amount: Number(amount), currency },
      providerId,
    }));
  }
}

interface ClaimedRow {
  readonly refundId: string;
  readonly paymentId: string;
  /** pg hands a bigint over as text. */
  readonly amount: string;
  readonly currency: string;
  readonly providerId: string;
}

/** One that the provider has no name for yet is its key's to settle. */
const POLLS = pollStatements({
  table: 'refunds',
  open: "status IN ('pending', 'requires_action') AND provider_id IS NOT NULL",
  returning: `id AS "refundId", amount, currency, provider_id AS "providerId",
    (SELECT provider_id FROM charges WHERE charges.tenant_id = $1 AND charges.id = polled.charge_id)
      AS "paymentId"`,
});
