import type { Row, TableName, Version } from './history.js';
import { stepOf, type KeyStep } from './key-view.js';

/** What a transaction wrote, in a few words for each row. */
export function linesOf(versions: readonly Version[]): string[] {
  return versions.flatMap((version) => {
    const lines = version.after ? LINES[version.table](version.after, version) : undefined;
    return lines ?? [];
  });
}

const LINES: Record<TableName, (after: Row, version: Version) => string | string[] | undefined> = {
  idempotency_keys: (after, version) => keyLines(after, stepOf(version)),
  orders: (after, { before }) => (before ? `order is ${String(after['status'])}` : 'order'),
  charges: (after, { before }) => (before ? `charge ${String(after['status'])}` : 'intent to charge'),
  ledger_entries: () => 'ledger entry',
  outbox_messages: (_after, { before }) => (before ? undefined : 'receipt → outbox'),
  inbox_messages: (_after, { before }) => (before ? undefined : 'event → inbox'),
  reviews: () => 'review',
};

/** The claim may have come as far as the frozen request, or the answer, within its transaction. */
function keyLines(after: Row, step: KeyStep): string[] {
  const lines: string[] = [];
  if (step === 'claim') lines.push('key claimed');
  if (step === 'takeover') lines.push('new owner');
  const isFinished = after['status'] === 'finished';
  if ((step === 'claim' || step === 'advance') && !isFinished && after['request_derived_key'] !== null)
    lines.push('frozen request');
  if ((step === 'claim' || step === 'finish') && isFinished)
    lines.push(`answer ${String(after['reply_status'])}`);
  return lines;
}
