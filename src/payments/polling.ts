import { inParallel } from '../background/in-parallel.js';
import { dueTenants } from '../database/earliest.js';
import { later, planned, type Statement } from '../database/statement.js';
import type { Database, Tx } from '../database/transaction.js';
import { askPerson } from '../idempotency/open-review.js';
import { isSettling, type ChargeOutcome, type RefundOutcome, type Settling } from './payment-provider.js';

/**
 * What became of what one round asked about. `waiting`: still open, or the provider could not be asked; `questioned`:
 * the provider contradicts us, and a review is open; `failed`: see the log.
 */
export type PollCounts = Record<'claimed' | 'failed' | Answered, number>;

export type Answered = 'settled' | 'waiting' | 'questioned';

/** What is open at the provider, and whose news may be lost. */
export interface Polled<Open> {
  tenantsWithDue(): Promise<string[]>;
  /** Takes what is due, and puts its next poll off: whoever dies after this has only delayed it. */
  claim(tenantId: string, limit: number): Promise<Open[]>;
  /** Asks, and adopts what the provider says. */
  poll(open: Open): Promise<Answered>;
  /** `poll` threw: it is asked about again when it is due. */
  failed(open: Open, error: unknown): void;
}

/** What one claim takes of a tenant. */
const BATCH = 50;

/** Tenants take turns, and the provider is not flooded: at most so many calls are out at once. */
const CALLS_AT_ONCE = 4;

/** Asks about everything that is due. Safe in any number of copies. */
export async function pollRound<Open>(polled: Polled<Open>, signal: AbortSignal): Promise<PollCounts> {
  const counts: PollCounts = { claimed: 0, settled: 0, waiting: 0, questioned: 0, failed: 0 };
  for (const tenantId of await polled.tenantsWithDue()) {
    if (signal.aborted) break;
    const open = await polled.claim(tenantId, BATCH);
    counts.claimed += open.length;
    await inParallel(CALLS_AT_ONCE, open, async (each) => {
      counts[signal.aborted ? 'waiting' : await answerTo(polled, each)] += 1;
    });
  }
  return counts;
}

/** What is asked about, as a person would be told of it. */
interface Asked {
  readonly tenantId: string;
  readonly kind: 'charge' | 'refund';
  readonly id: string;
  /** The provider's name of it. */
  readonly providerId: string;
}

/** What an answer comes to: nothing yet, a question for a person, or what `settle` makes of it in one transaction. */
export async function adopt<Outcome extends ChargeOutcome | RefundOutcome>(
  database: Database,
  { tenantId, kind, id, providerId }: Asked,
  outcome: Outcome,
  settle: (tx: Tx, settled: Settling<Outcome>) => Promise<Answered>,
): Promise<Answered> {
  if (isSettling(outcome)) return database.transaction((tx) => settle(tx, outcome));
  if (outcome.status !== 'contradicted') return 'waiting';
  await askPerson(database, {
    tenantId,
    subject: { kind, id },
    reason: 'provider_contradicts',
    evidence: { providerId, differs: outcome.reason },
  });
  return 'questioned';
}

async function answerTo<Open>(polled: Polled<Open>, open: Open): Promise<keyof PollCounts> {
  try {
    return await polled.poll(open);
  } catch (error) {
    polled.failed(open, error);
    return 'failed';
  }
}

/**
 * The statements on a table that has `next_poll_at` and `polls`, and an index on (tenant_id, next_poll_at) where
 * `open`. A claim takes the tenant and a limit, and puts the next poll off: half a minute, doubling up to an hour, so
 * that a customer who is at the bank's page now is found soon, and what takes days costs a call an hour.
 * @param returning what a claim gives of each row; may use parameters from $3
 */
export function pollStatements({
  table,
  open,
  returning,
}: {
  readonly table: string;
  readonly open: string;
  readonly returning: string;
}): { readonly tenants: Statement; readonly claim: Statement } {
  return {
    tenants: dueTenants({ table, at: 'next_poll_at', where: open }),
    claim: planned(
      `WITH due AS MATERIALIZED (
         SELECT id FROM ${table}
          WHERE tenant_id = $1 AND ${open} AND next_poll_at <= now()
          ORDER BY next_poll_at
          LIMIT $2
          FOR UPDATE SKIP LOCKED
       )
       UPDATE ${table} AS polled
          SET polls = polls + 1, next_poll_at = ${later('least(3600, 30 * 2 ^ least(polls, 10))')}
        WHERE tenant_id = $1 AND id IN (SELECT id FROM due)
       RETURNING ${returning}`,
    ),
  };
}
