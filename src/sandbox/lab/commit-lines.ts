import type { Row, TableName, Version } from './history.js';
import { stepOf, type KeyStep } from './key-view.js';

/** What a transaction wrote, in a few words for each row. */
export function linesOf(versions: readonly Version[]): string[] {
  return versions.flatMap((version) => {
    const line = version.after ? LINES[version.table](version.after, version) : undefined;
    return line ?? [];
  });
}

const LINES: Record<TableName, (after: Row, version: Version) => string | undefined> = {
  idempotency_keys: (after, version) => keyLine(after, stepOf(version)),
  orders: (after, { before }) => (before ? `order is ${String(after['status'])}` : 'order'),
  charges: (after, { before }) => (before ? `charge ${String(after['status'])}` : 'intent to charge'),
  ledger_entries: () => 'ledger entry',
  outbox_messages: (_after, { before }) => (before ? undefined : 'receipt → outbox'),
  inbox_messages: (_after, { before }) => (before ? undefined : 'event → inbox'),
  reviews: () => 'review',
};

function keyLine(after: Row, step: KeyStep): string | undefined {
  if (step === 'claim') return 'key claimed';
  if (step === 'takeover') return 'new owner';
  if (step === 'finish') return `answer ${String(after['reply_status'])}`;
  return step === 'advance' && after['request_derived_key'] !== null ? 'frozen request' : undefined;
}
