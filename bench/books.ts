import { untilNone } from './books-since.js';
import type { Contender } from './contenders.js';
import type { Stage } from './stage.js';

/** A fast wrong answer is no answer. @returns one sentence for each contender whose books do not agree */
export function wrongBooks(stage: Stage, all: readonly Contender[]): Promise<string[]> {
  return untilNone(() => compare(stage, all));
}

async function compare(stage: Stage, all: readonly Contender[]): Promise<string[]> {
  const charged = await stage.charged();
  const checked = all.filter(({ checksOut }) => checksOut);
  const findings = await Promise.all(
    checked.map(async ({ name, database }) => {
      const [counts] = await database.sql<Record<string, number>>(COUNTS);
      const all = { ...counts, 'charges at the provider': charged[PREFIXES[name]!] ?? 0 };
      const agree = new Set(Object.values(all)).size === 1;
      return agree ? undefined : `${name}: ${JSON.stringify(all)}`;
    }),
  );
  return findings.filter((finding) => finding !== undefined);
}

/** Of the keys that the provider was sent. */
const PREFIXES: Readonly<Record<string, string>> = {
  checkout: 'ours',
  'secured checkout': 'secured',
  'floor checkout': 'floor',
};

const COUNTS = `
  SELECT (SELECT count(*)::int FROM orders WHERE status = 'paid') AS "orders paid",
         (SELECT count(*)::int FROM charges WHERE status = 'succeeded') AS "charges",
         (SELECT count(*)::int FROM ledger_entries) AS "ledger rows",
         (SELECT count(*)::int FROM outbox_messages WHERE topic = 'receipt') AS "receipts"`;
