import type { Mail } from '../../src/sandbox/mailbox/mail.js';
import type { ProviderLedger } from '../support/mock-provider.js';
import type { Journal } from './journal.js';
import type { Stage } from './stage.js';

export interface KeyFact {
  readonly tenant: string;
  readonly key: string;
  readonly id: string;
  readonly operation: string;
  readonly status: string;
  readonly reply_status: number | null;
  readonly reply_body: string | null;
  readonly [column: string]: unknown;
}

export interface OrderFact {
  readonly tenant: string;
  readonly id: string;
  readonly status: string;
  readonly amount: number;
  readonly currency: string;
}

export interface ChargeFact extends OrderFact {
  readonly order_id: string;
  readonly key: string;
  readonly derived_key: string;
  readonly provider_id: string | null;
  readonly amount_refunded: number;
}

export interface RefundFact extends OrderFact {
  readonly charge_id: string;
  readonly derived_key: string;
  readonly provider_id: string | null;
}

export interface LedgerFact {
  readonly tenant: string;
  readonly kind: string;
  readonly subject: string;
  readonly debit_account: string;
  readonly amount: number;
  readonly currency: string;
}

export interface OutboxFact {
  readonly tenant: string;
  readonly dedupe_key: string;
  readonly attempts: number;
}

export interface AuditFact {
  readonly at: Date;
  readonly tenant: string;
  readonly key: string;
  readonly process: string;
  readonly what: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Everything that is known at some moment; the checker sees nothing else, and not a line of the service's code. */
export interface Facts {
  readonly journal: Journal;
  readonly keys: readonly KeyFact[];
  readonly orders: readonly OrderFact[];
  readonly charges: readonly ChargeFact[];
  readonly refunds: readonly RefundFact[];
  readonly ledger: readonly LedgerFact[];
  readonly outbox: readonly OutboxFact[];
  readonly audit: readonly AuditFact[];
  readonly provider: ProviderLedger;
  readonly mails: readonly Mail[];
}

/** In this order: what clients have seen is in the database, and what the database has the provider has done. */
export async function gather({ database, provider, mailbox }: Stage, journal: Journal): Promise<Facts> {
  const seen = journal.copy();
  const [keys, orders, charges, refunds, ledger, outbox, audit] = await database.snapshot([
    KEYS,
    'SELECT tenant_id AS tenant, id, status, amount::float8, currency FROM orders',
    CHARGES,
    REFUNDS,
    LEDGER,
    'SELECT tenant_id AS tenant, dedupe_key, attempts FROM outbox_messages',
    'SELECT at, tenant_id AS tenant, key, process, what, before, after FROM torture_audit ORDER BY at',
  ]);
  return {
    journal: seen,
    keys: keys as KeyFact[],
    orders: orders as OrderFact[],
    charges: charges as ChargeFact[],
    refunds: refunds as RefundFact[],
    ledger: ledger as LedgerFact[],
    outbox: outbox as OutboxFact[],
    audit: audit as AuditFact[],
    provider: await provider.ledger(),
    mails: await mailbox.messages(),
  };
}

const KEYS = `SELECT tenant_id AS tenant, key, id, operation, status, recovery_point, attempts, version, completer_tries,
    in_doubt, last_error, created_at, completed_at, locked_until, next_run_at, reply_status,
    convert_from(reply_body, 'UTF8') AS reply_body
  FROM idempotency_keys`;

const CHARGES = `SELECT tenant_id AS tenant, id, order_id, status, amount::float8, amount_refunded::float8, currency,
    idempotency_key AS key, derived_key, provider_id, created_at
  FROM charges`;

const REFUNDS = `SELECT tenant_id AS tenant, id, charge_id, status, amount::float8, currency, derived_key, provider_id,
    created_at
  FROM refunds`;

const LEDGER = `SELECT tenant_id AS tenant, kind, subject, debit_account, amount::float8, currency, created_at
  FROM ledger_entries`;
