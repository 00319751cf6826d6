import { checkoutBody, post, type Answer, type PostOptions } from './checkout.js';
import type { TestDatabase } from './database.js';
import type { LedgerEntry, MockProvider } from './mock-provider.js';

/** A charge to refund: 17.00 EUR unless `changes` say otherwise. @returns the checkout's order and charge */
export async function pay(apiUrl: string, changes: Record<string, unknown> = {}) {
  const { status, body } = await post(`${apiUrl}/v1/checkouts`, checkoutBody(changes));
  expect(status).toBe(201);
  return body as { order: any; charge: any };
}

export function refund(
  apiUrl: string,
  chargeId: string,
  body: Record<string, unknown> = {},
  options: PostOptions = {},
): Promise<Answer> {
  return post(`${apiUrl}/v1/charges/${chargeId}/refunds`, body, options);
}

/** What the provider has of our refunds of a charge: one entry per effect. */
export async function refundsAtProvider(db: TestDatabase, provider: MockProvider, chargeId: string) {
  const ours = await db.sql<{ id: string }>('SELECT id FROM refunds WHERE charge_id = $1', [chargeId]);
  const { refunds } = await provider.ledger();
  return refunds.filter(({ metadata }) => ours.some(({ id }) => id === metadata['refund_id']));
}

/** Currency by currency, what the ledger says we have is what the provider took less what it gave back. */
export async function expectLedgersAgree(db: TestDatabase, provider: MockProvider): Promise<void> {
  const ours = await db.sql<{ currency: string; sum: number }>(
    `SELECT currency, sum(CASE 'provider_balance' WHEN debit_account THEN amount ELSE -amount END)::int AS sum
     FROM ledger_entries GROUP BY currency ORDER BY currency`,
  );
  const theirs = new Map<string, number>();
  const count = (entries: readonly LedgerEntry[], sign: 1 | -1) => {
    for (const { currency, amount, status } of entries)
      if (status === 'succeeded') theirs.set(currency, (theirs.get(currency) ?? 0) + sign * amount);
  };
  const { charges, refunds } = await provider.ledger();
  count(charges, 1);
  count(refunds, -1);
  expect(ours).toEqual([...theirs].sort().map(([currency, sum]) => ({ currency, sum })));
  expect(ours.length).toBeGreaterThan(0);
}
