import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from './service.js';
import type { BenchDatabase, Stage } from './stage.js';

/** Longer than what is under way may take when a load ends: it hangs up, and the service goes on. */
const SETTLES_WITHIN_MS = 10_000;

/** @returns what is still found when everything should be written down */
export async function untilNone(find: () => Promise<string[]>): Promise<string[]> {
  const until = performance.now() + SETTLES_WITHIN_MS;
  for (;;) {
    const found = await find();
    if (found.length === 0 || performance.now() > until) return found;
    await sleep(100);
  }
}

/** What the database and the provider must agree on: each of these counts the checkouts. */
async function counts({ charged }: { charged: number }, database: BenchDatabase) {
  const [counted] = await database.sql<Record<string, number>>(COUNTS);
  return { ...counted, 'charges at the provider': charged };
}

/**
 * Counts what a service has done since now: rows that were loaded are in none of the differences.
 * @returns asks whether the books agree; a sentence where they do not
 */
export async function openBooks(stage: Stage, { name, database }: Service) {
  const count = async () => counts({ charged: (await stage.charged())[name] ?? 0 }, database);
  const before: Record<string, number> = await count();
  return () =>
    untilNone(async () => {
      const after: Record<string, number> = await count();
      const differences = Object.keys(after).map((what) => [what, after[what]! - before[what]!] as const);
      const agree = new Set(differences.map(([, difference]) => difference)).size === 1;
      return agree ? [] : [`${name}: ${JSON.stringify(Object.fromEntries(differences))}`];
    });
}

/** Keys and receipts are not among them, which the reaper deletes: see ledger and charges for what they led to. */
const COUNTS = `
  SELECT (SELECT count(*)::int FROM orders WHERE status = 'paid') AS "orders paid",
         (SELECT count(*)::int FROM charges WHERE status = 'succeeded') AS "charges",
         (SELECT count(*)::int FROM ledger_entries) AS "ledger rows"`;
