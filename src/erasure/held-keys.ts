import { statement } from '../database/statement.js';
import type { Database, Tx } from '../database/transaction.js';
import { REPLY_ERASED, replyErased } from '../idempotency/idempotency.problems.js';
import { refusal } from '../idempotency/operation.js';
import { everyRow } from './every-row.js';

export interface HeldKey {
  readonly key: string;
  readonly id: string;
  readonly status: 'in_progress' | 'review' | 'finished';
  readonly replyStatus: number | null;
  /** The order that its reply names. */
  readonly orderId: string | null;
}

interface About {
  readonly orderIds: readonly string[];
  readonly chargeIds: readonly string[];
  readonly address: string | null;
}

/** Keys whose stored reply tells of one of the orders or of the address, and unfinished ones that are about them. */
export function keysOf(
  database: Database,
  tenantId: string,
  { orderIds, chargeIds, address }: About,
): Promise<HeldKey[]> {
  const customer = address === null ? null : `"email":${JSON.stringify(address)}`;
  return KEYS(database, tenantId, [orderIds, customer, [...orderIds, ...chargeIds]]);
}

/**
 * The row stays for as long as it would have, so that a retry is told from a new purchase; only what it is answered is
 * another thing. @returns how many are still as they were found
 */
export async function eraseReplies(tx: Tx, tenantId: string, keys: readonly HeldKey[]): Promise<number> {
  const replies = keys.map(({ replyStatus, orderId }) => refusal(replyErased(replyStatus!, orderId)));
  return tx.execute(ERASE, [
    tenantId,
    keys.map(({ key }) => key),
    keys.map(({ id }) => id),
    replies.map(({ status }) => status),
    replies.map(({ headers }) => JSON.stringify(headers)),
    replies.map(({ body }) => body),
  ]);
}

const mentions = (ids: string, text: string) =>
  `(EXISTS (SELECT FROM unnest(${ids}::text[]) AS id WHERE strpos(${text}, id) > 0)
    OR coalesce(strpos(lower(${text}), lower($4)) > 0, false))`;

/** A stored 409 names an order and nothing of its customer. */
const KEYS = everyRow<HeldKey>({
  table: 'idempotency_keys',
  key: ['key'],
  columns: `key, id, status, reply_status AS "replyStatus",
    substring(convert_from(reply_body, 'UTF8') FROM 'ord_[0-9a-z]{26}') AS "orderId"`,
  where: `CASE WHEN status = 'finished'
    THEN reply_status <> 409 AND strpos(convert_from(reply_body, 'UTF8'), '"${REPLY_ERASED}"') = 0
      AND ${mentions('$3', "convert_from(reply_body, 'UTF8')")}
    ELSE ${mentions('$5', 'concat(input, state, request)')} END`,
});

const ERASE = statement(
  'key_erase_replies',
  `UPDATE idempotency_keys SET reply_status = reply.status, reply_headers = reply.headers, reply_body = reply.body
  FROM unnest($2::text[], $3::text[], $4::smallint[], $5::json[], $6::bytea[])
    AS reply (key, id, status, headers, body)
  WHERE tenant_id = $1 AND idempotency_keys.key = reply.key AND idempotency_keys.id = reply.id
    AND idempotency_keys.status = 'finished'`,
);
