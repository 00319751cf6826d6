import { statement } from '../database/statement.js';
import type { Database, Tx } from '../database/transaction.js';
import { REPLY_ERASED, replyErased } from '../idempotency/idempotency.problems.js';
import { refusal } from '../idempotency/operation.js';
import type { SealedColumns, Sealing } from '../idempotency/sealing.js';
import { everyPage } from './every-row.js';

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

/**
 * Keys whose stored reply tells of one of the orders or of the address, and unfinished ones that are about them. The
 * database looks into the plain ones, this process into those that are sealed.
 * @throws Problem 503, where one of the tenant's does not open: it may be about them
 */
export async function keysOf(
  database: Database,
  sealing: Sealing,
  tenantId: string,
  { orderIds, chargeIds, address }: About,
): Promise<HeldKey[]> {
  const customer = address === null ? null : `"email":${JSON.stringify(address)}`;
  const subjectIds = [...orderIds, ...chargeIds];
  const found: HeldKey[] = [];
  for await (const page of KEYS(database, tenantId, [orderIds, customer, subjectIds]))
    for (const row of page) {
      const text = row.sealed_with === null ? null : textOf(sealing.opened(tenantId, row));
      const { key, id, status, replyStatus } = row;
      if (text === null) found.push({ key, id, status, replyStatus, orderId: row.orderId });
      else if (tells(status, text, { orderIds, subjectIds, customer }))
        found.push({ key, id, status, replyStatus, orderId: ORDER_ID.exec(text)?.[0] ?? null });
    }
  return found;
}

/**
 * The row stays for as long as it would have, so that a retry is told from a new purchase; only what it is answered is
 * another thing. @returns how many are still as they were found
 */
export async function eraseReplies(
  tx: Tx,
  sealing: Sealing,
  tenantId: string,
  keys: readonly HeldKey[],
): Promise<number> {
  const replies = keys.map(({ replyStatus, orderId }) => refusal(replyErased(replyStatus!, orderId)));
  return tx.execute(ERASE, [
    tenantId,
    keys.map(({ key }) => key),
    keys.map(({ id }) => id),
    replies.map(({ status }) => status),
    replies.map(({ headers }) => JSON.stringify(headers)),
    replies.map(({ body }, index) => sealing.seal({ tenantId, id: keys[index]!.id }, 'reply_body', body)),
    sealing.writesWith,
  ]);
}

/** A key that the database has found, or one that it cannot look into. */
interface Candidate extends HeldKey, SealedColumns {
  readonly sealed_with: string | null;
}

function textOf({ reply_body: reply, input, state, request }: SealedColumns): string {
  return reply ? reply.toString() : [input, state, request].map((each) => JSON.stringify(each)).join('');
}

interface Searched {
  readonly orderIds: readonly string[];
  readonly subjectIds: readonly string[];
  readonly customer: string | null;
}

/** As the query below has it. */
function tells(
  status: HeldKey['status'],
  text: string,
  { orderIds, subjectIds, customer }: Searched,
): boolean {
  if (status === 'finished' && text.includes(ERASED)) return false;
  const ids = status === 'finished' ? orderIds : subjectIds;
  const names = customer !== null && text.toLowerCase().includes(customer.toLowerCase());
  return names || ids.some((id) => text.includes(id));
}

const ERASED = `"${REPLY_ERASED}"`;

const ORDER_ID = /ord_[0-9a-z]{26}/;

const mentions = (ids: string, text: string) =>
  `(EXISTS (SELECT FROM unnest(${ids}::text[]) AS id WHERE strpos(${text}, id) > 0)
    OR coalesce(strpos(lower(${text}), lower($4)) > 0, false))`;

/** A stored 409 names an order and nothing of its customer. A page of the largest replies takes some 50 MB. */
const KEYS = everyPage<Candidate>({
  table: 'idempotency_keys',
  key: ['key'],
  page: 200,
  columns: `key, id, status, reply_status AS "replyStatus", sealed_with, input, state, request, reply_body,
    CASE WHEN sealed_with IS NULL THEN substring(convert_from(reply_body, 'UTF8') FROM '${ORDER_ID.source}') END AS "orderId"`,
  where: `CASE WHEN status = 'finished' AND reply_status = 409 THEN false
    WHEN sealed_with IS NOT NULL THEN true
    WHEN status = 'finished' THEN strpos(convert_from(reply_body, 'UTF8'), '${ERASED}') = 0
      AND ${mentions('$3', "convert_from(reply_body, 'UTF8')")}
    ELSE ${mentions('$5', 'concat(input, state, request)')} END`,
});

const ERASE = statement(
  'key_erase_replies',
  `UPDATE idempotency_keys SET reply_status = reply.status, reply_headers = reply.headers, reply_body = reply.body,
    sealed_with = $7
  FROM unnest($2::text[], $3::text[], $4::smallint[], $5::json[], $6::bytea[])
    AS reply (key, id, status, headers, body)
  WHERE tenant_id = $1 AND idempotency_keys.key = reply.key AND idempotency_keys.id = reply.id
    AND idempotency_keys.status = 'finished'`,
);
