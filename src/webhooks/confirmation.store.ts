import { Injectable } from '@nestjs/common';
import { dueTenants } from '../database/earliest.js';
import { planned, statement, type Statement } from '../database/statement.js';
import { Database, type Tx } from '../database/transaction.js';
import type { ChargeTerms, RefundTerms } from '../payments/payment-provider.js';

/** What we hold for made, and have not seen at the provider. */
export type Unconfirmed = { readonly tenantId: string; readonly id: string } & (
  | { readonly about: 'charge'; readonly terms: ChargeTerms }
  | { readonly about: 'refund'; readonly terms: RefundTerms }
) & {
    /** The provider's name of it. */
    readonly providerId: string;
    /** Where it stands among those of its tenant; for the next batch. */
    readonly createdAt: string;
  };

export type About = Unconfirmed['about'];

/** Charges and refunds that succeeded here, tenant by tenant, until the provider is known to agree. */
@Injectable()
export class ConfirmationStore {
  constructor(private readonly database: Database) {}

  async tenants(about: About): Promise<string[]> {
    const rows = await this.database.query<{ tenantId: string }>(STATEMENTS[about].tenants);
    return rows.map(({ tenantId }) => tenantId);
  }

  /** The oldest first. @param before database time, as `SweepStore.begin` gave it @param after the last one read */
  async read(
    about: About,
    tenantId: string,
    { before, after, limit }: { before: string; after: Unconfirmed | undefined; limit: number },
  ): Promise<Unconfirmed[]> {
    const { createdAt = '-infinity', id = '' } = after ?? {};
    const rows = await this.database.query<Row>(STATEMENTS[about].read, [
      tenantId,
      before,
      createdAt,
      id,
      limit,
    ]);
    return rows.map((row) => unconfirmed(about, tenantId, row));
  }

  /** @returns false where somebody has done so, or it has not succeeded any more: nothing is left to ask */
  async confirm(tx: Tx, { about, tenantId, id }: Unconfirmed): Promise<boolean> {
    return (await tx.execute(STATEMENTS[about].confirm, [tenantId, id])) === 1;
  }
}

interface Row {
  readonly id: string;
  readonly createdAt: string;
  readonly providerId: string;
  /** pg hands a bigint over as text. */
  readonly amount: string;
  readonly currency: string;
  readonly orderId: string;
  readonly paymentId: string;
}

function unconfirmed(about: About, tenantId: string, row: Row): Unconfirmed {
  const { id, createdAt, providerId, currency, orderId, paymentId } = row;
  const held = { tenantId, id, createdAt, providerId };
  const terms = { tenantId, amount: Number(row.amount), currency };
  return about === 'charge'
    ? { ...held, about, terms: { ...terms, chargeId: id, orderId } }
    : { ...held, about, terms: { ...terms, refundId: id, providerId: paymentId } };
}

const UNCONFIRMED = "status = 'succeeded' AND confirmed_at IS NULL";

/** @param also what only one kind has */
function statementsOn(
  table: 'charges' | 'refunds',
  also: string,
): Readonly<Record<'tenants' | 'read' | 'confirm', Statement>> {
  return {
    tenants: dueTenants({ table, at: 'created_at', where: UNCONFIRMED }),
    read: planned(
      `SELECT id, created_at::text AS "createdAt", provider_id AS "providerId", amount, currency, ${also}
         FROM ${table} AS held
        WHERE tenant_id = $1 AND ${UNCONFIRMED} AND created_at < $2::timestamptz
          AND (created_at, id) > ($3::timestamptz, $4)
        ORDER BY created_at, id
        LIMIT $5`,
    ),
    // In other words than the index has: one row is found by its primary key, not among all that wait.
    confirm: statement(
      `sweep_confirm_one_of_${table}`,
      `UPDATE ${table} SET confirmed_at = now() WHERE tenant_id = $1 AND id = $2 AND status = 'succeeded'
         AND coalesce(confirmed_at, 'infinity') = 'infinity'`,
    ),
  };
}

const STATEMENTS = {
  charge: statementsOn('charges', 'order_id AS "orderId"'),
  refund: statementsOn(
    'refunds',
    `(SELECT provider_id FROM charges WHERE charges.tenant_id = $1 AND charges.id = held.charge_id)
       AS "paymentId"`,
  ),
};
