import { setTimeout as sleep } from 'node:timers/promises';
import { authenticate, type Stage } from './stage.js';

/** What is still under way, by kind; nothing of it may be left for long once all is well. */
export type Unfinished = Readonly<Record<string, number>>;

/** Ends every fault. What was broken stays as it is, for the service to mend. */
export async function heal(stage: Stage): Promise<void> {
  await Promise.all([stage.provider.clearFaults(), stage.mailbox.clearFaults()]);
  stage.proxy.heal();
  await Promise.all([...stage.apis, ...stage.workers].map((each) => each.ready()));
}

/** Waits until nothing is under way. @returns what is after `seconds`, and how long it took */
export async function drain(stage: Stage, seconds: number): Promise<{ left: Unfinished; seconds: number }> {
  const started = performance.now();
  const elapsed = () => (performance.now() - started) / 1_000;
  await hurry(stage);
  for (;;) {
    await stage.database.sql(HURRY_KEYS);
    await sendCustomersToTheirBanks(stage);
    const left = await unfinished(stage);
    if (Object.keys(left).length === 0 || elapsed() > seconds) return { left, seconds: elapsed() };
    await sleep(500);
  }
}

/** Time moves by back-dating rows: backoffs and the claims of the dead would take minutes or hours. */
async function hurry({ database }: Stage): Promise<void> {
  await database.sql(HURRY_OUTBOX);
  await database.sql(HURRY_INBOX);
}

async function sendCustomersToTheirBanks(stage: Stage): Promise<void> {
  const open = await stage.database.sql<{ id: string }>(OPEN_CHARGES);
  for (const { id } of open) await authenticate(stage, id);
  await stage.database.sql(HURRY_CHARGES);
}

async function unfinished({ database }: Stage): Promise<Unfinished> {
  const rows = await database.sql<{ what: string; count: number }>(UNFINISHED);
  return Object.fromEntries(rows.filter(({ count }) => count > 0).map(({ what, count }) => [what, count]));
}

/** Never one whose lease holds: somebody is at it. */
const HURRY_KEYS = `UPDATE idempotency_keys SET next_run_at = now()
  WHERE status = 'in_progress' AND next_run_at > now() AND (locked_until IS NULL OR locked_until < now())`;
const HURRY_OUTBOX = 'UPDATE outbox_messages SET due_at = now() WHERE due_at > now()';
const HURRY_INBOX = 'UPDATE inbox_messages SET due_at = now() WHERE applied_at IS NULL AND due_at > now()';
const OPEN_CHARGES = `SELECT id FROM charges WHERE status = 'requires_action'`;
const HURRY_CHARGES = `UPDATE charges SET next_poll_at = now() WHERE status IN ('requires_action', 'processing')`;

const UNFINISHED = `
SELECT 'keys ' || status AS what, count(*)::int AS count FROM idempotency_keys WHERE status <> 'finished' GROUP BY status
UNION ALL SELECT 'charges ' || status, count(*)::int FROM charges
  WHERE status NOT IN ('succeeded', 'declined', 'rejected', 'canceled') GROUP BY status
UNION ALL SELECT 'messages in the outbox', count(*)::int FROM outbox_messages WHERE sent_at IS NULL
UNION ALL SELECT 'messages in the inbox', count(*)::int FROM inbox_messages WHERE applied_at IS NULL
UNION ALL SELECT 'open reviews', count(*)::int FROM reviews WHERE decided_at IS NULL`;
