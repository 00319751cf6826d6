import { planned } from '../database/statement.js';
import type { Database, Tx } from '../database/transaction.js';
import { everyRow } from './every-row.js';
import { hasWords, withoutWords } from './providers-words.js';

export interface HeldEvent {
  readonly source: string;
  readonly id: string;
  readonly status: 'due' | 'applied' | 'dead';
  readonly payload: unknown;
}

/** What the provider told of these charges and refunds. */
export function eventsOf(
  database: Database,
  tenantId: string,
  chargeIds: readonly string[],
  refundIds: readonly string[],
): Promise<HeldEvent[]> {
  return EVENTS(database, tenantId, [chargeIds, refundIds]);
}

/** Whether there is anything to erase of it. */
export function eventTells({ payload }: HeldEvent): boolean {
  return hasWords(payload);
}

/** They keep their ids and their outcome: one that comes again is known, and one that is applied again tells the same. */
export function eraseEvents(tx: Tx, tenantId: string, events: readonly HeldEvent[]): Promise<number> {
  return tx.execute(ERASE, [
    tenantId,
    events.map(({ source }) => source),
    events.map(({ id }) => id),
    events.map(({ payload }) => JSON.stringify(withoutWords(payload))),
  ]);
}

const EVENTS = everyRow<HeldEvent>({
  table: 'inbox_messages',
  key: ['source', 'id'],
  columns: `source, id, payload,
    CASE WHEN applied_at IS NOT NULL THEN 'applied' WHEN dead_at IS NOT NULL THEN 'dead' ELSE 'due' END AS status`,
  where: `payload -> 'news' ->> 'chargeId' = ANY ($3) OR payload -> 'news' ->> 'refundId' = ANY ($4)`,
});

const ERASE = planned(`
  UPDATE inbox_messages SET payload = event.payload
  FROM unnest($2::text[], $3::text[], $4::json[]) AS event (source, id, payload)
  WHERE tenant_id = $1 AND inbox_messages.source = event.source AND inbox_messages.id = event.id
    AND (applied_at IS NOT NULL OR dead_at IS NOT NULL)`);
