import { planned } from '../database/statement.js';
import type { Database, Tx } from '../database/transaction.js';
import { everyRow } from './every-row.js';

export interface HeldMail {
  readonly id: string;
  readonly status: 'due' | 'sent' | 'dead';
}

export function mailsOf(
  database: Database,
  tenantId: string,
  orderIds: readonly string[],
  address: string | null,
): Promise<HeldMail[]> {
  return MAILS(database, tenantId, [orderIds, address]);
}

/**
 * A sent one keeps its name, so that it is not staged again; a dead one is purged, as nobody may get it any more.
 * @returns how many are still as they were found
 */
export async function eraseMails(tx: Tx, tenantId: string, mails: readonly HeldMail[]): Promise<number> {
  const idsOf = (wanted: HeldMail['status']) =>
    mails.filter(({ status }) => status === wanted).map(({ id }) => id);
  const changed = await Promise.all([
    tx.execute(ERASE, [tenantId, idsOf('sent')]),
    tx.execute(PURGE, [tenantId, idsOf('dead')]),
  ]);
  return changed.reduce((sum, count) => sum + count, 0);
}

/** Those that are empty have been erased. */
const MAILS = everyRow<HeldMail>({
  table: 'outbox_messages',
  key: ['id'],
  columns: `id, CASE WHEN sent_at IS NOT NULL THEN 'sent' WHEN dead_at IS NOT NULL THEN 'dead' ELSE 'due' END AS status`,
  where: `(ordering_key = ANY ($3) OR lower(payload ->> 'email') = lower($4)) AND payload::text <> '{}'`,
});

const ERASE = planned(`
  UPDATE outbox_messages SET payload = '{}', last_error = NULL
  WHERE tenant_id = $1 AND id = ANY ($2) AND sent_at IS NOT NULL`);

const PURGE = planned(
  'DELETE FROM outbox_messages WHERE tenant_id = $1 AND id = ANY ($2) AND dead_at IS NOT NULL',
);
