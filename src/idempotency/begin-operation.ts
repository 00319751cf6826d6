import { createHash, randomUUID } from 'node:crypto';
import { typeidUnboxed } from 'typeid-js';
import { statement } from '../database/statement.js';
import type { Tx } from '../database/transaction.js';
import { newRequestId } from '../http/request-id.js';

/** What the service itself sets out to do. */
export interface OwnIntent {
  readonly tenantId: string;
  /** Name of a registered operation. */
  readonly operation: string;
  /** Id of what it is about; one operation about it may be unfinished, or stored, at a time. */
  readonly about: string;
  readonly input: unknown;
}

/**
 * Begins an operation that no client asked for, if the caller's transaction commits: the completer runs it, like one
 * whose client has gone. Its input is written plain, also where a client's is sealed: ids of ours, and nothing that anybody
 * sent. Whether it may begin at all is for the caller's own rows to say: keys expire, they do not.
 * @throws a unique violation at commit, where it is there already
 */
export function beginOperation(tx: Tx, { tenantId, operation, about, input }: OwnIntent): void {
  const key = ownKey(operation, about);
  const fingerprint = createHash('sha256').update(key).digest();
  const [id, requestId] = [typeidUnboxed('idem'), newRequestId()];
  tx.send(BEGIN, [tenantId, key, id, operation, fingerprint, JSON.stringify(input), randomUUID(), requestId]);
}

/** Keys of clients are ASCII: none of them can be this. */
function ownKey(operation: string, about: string): string {
  return `«${operation} ${about}»`;
}

/** Scheme 0: made from no request, and compared with none. */
const BEGIN = statement(
  'key_begin',
  `INSERT INTO idempotency_keys (tenant_id, key, id, operation, fingerprint_scheme, fingerprint, member_hashes, status,
     recovery_point, input, owner, version, locked_until, next_run_at, attempts, request_id)
   VALUES ($1, $2, $3, $4, 0, $5, '{}', 'in_progress', 'started', $6, $7, 1, NULL, now(), 0, $8)`,
);
