import { statement, type DecisiveStatement } from '../database/statement.js';
import type { Advance, Attempt, Claim, Execution } from './attempt.js';
import { Reply } from './operation.js';
import type { Sealing } from './sealing.js';

/** In seconds, and hours. */
interface Times {
  readonly lease: number;
  readonly grace: number;
  readonly retentionHours: number;
}

/** What a claim writes in each column; nothing stays of a row that it replaces. */
const CLAIMED = {
  id: '$3',
  operation: '$4',
  fingerprint_scheme: '$5',
  fingerprint: '$6',
  member_hashes: '$7',
  request_id: '$8',
  owner: '$9',
  version: '$10',
  next_run_at: 'now() + make_interval(secs => $12)',
  status: "CASE WHEN $20::int IS NULL THEN 'in_progress' ELSE 'finished' END",
  recovery_point: '$13',
  state: '$14',
  request: '$15',
  request_step: '$16',
  request_derived_key: '$17::text',
  first_sent_at: 'CASE WHEN $17::text IS NOT NULL THEN now() END',
  input: '$18',
  locked_until: 'now() + make_interval(secs => $19)',
  reply_status: '$20::int',
  reply_headers: '$21',
  reply_body: '$22',
  completed_at: 'CASE WHEN $20::int IS NOT NULL THEN now() END',
  expires_at: 'now() + make_interval(hours => $23)',
  sealed_with: '$24::text',
  created_at: 'now()',
  attempts: '1',
  completer_tries: '0',
  doubtful_tries: '0',
  in_doubt: 'false',
  known_outcome: 'NULL',
  unrecognised_since: 'NULL',
  last_error: 'NULL',
};

const COLUMNS = Object.keys(CLAIMED).join(', ');

/** Like `changesOneRow`, it fails where it changes none: the key is somebody's. */
const REPLACE = `ON CONFLICT (tenant_id, key) DO UPDATE SET
     ${Object.keys(CLAIMED)
       .map((column) => `${column} = excluded.${column}`)
       .join(', ')}
   WHERE 1 / (held.status = 'finished' AND held.expires_at <= excluded.created_at AND held.version = $11)::int = 1`;

export const CLAIM: DecisiveStatement = {
  ...statement(
    'key_claim',
    `INSERT INTO idempotency_keys AS held (tenant_id, key, ${COLUMNS})
   VALUES ($1, $2, ${Object.values(CLAIMED).join(', ')}) ${REPLACE}`,
  ),
  decisive: true,
};

/** The first attempt; there is none where the key has a row. */
const FIRST = '1 / (NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE tenant_id = $1 AND key = $2))::int';

/**
 * For a key whose row was not looked at: fails where there is one, before it is touched. A claim would find that too, and
 * lock the row for it: a retry is to write nothing. Citus takes no subquery in an INSERT; there the claim finds it.
 */
export const CLAIM_UNSEEN: DecisiveStatement = {
  ...statement(
    'key_claim_unseen',
    `INSERT INTO idempotency_keys AS held (tenant_id, key, ${COLUMNS})
   VALUES ($1, $2, ${Object.values({ ...CLAIMED, attempts: FIRST }).join(', ')}) ${REPLACE}`,
  ),
  decisive: true,
  spread: CLAIM.text,
};

/** What a claim reads. @param end what the first transaction comes to, where that is known already */
export function claimValues(
  { execution, owner, version }: Attempt,
  { fingerprint }: Claim,
  end: Reply | Advance | undefined,
  times: Times,
  sealing: Sealing,
): unknown[] {
  return [
    execution.tenantId,
    execution.key,
    execution.id,
    execution.operation,
    fingerprint.scheme,
    fingerprint.hash,
    JSON.stringify(fingerprint.members),
    execution.requestId,
    owner,
    end ? version + 1 : version,
    version - 1,
    times.grace,
    ...(end instanceof Reply
      ? finished(end, execution, times, sealing)
      : underWay(end ?? STARTED, execution, times, sealing)),
    sealing.writesWith,
  ];
}

const STARTED: Advance = { recoveryPoint: 'started', state: undefined, request: undefined };

function underWay(advance: Advance, execution: Execution, { lease }: Times, sealing: Sealing): unknown[] {
  const input = sealing.sealJson(execution, 'input', execution.input);
  return [...advanceValues(advance, execution, sealing), input, lease, null, null, null, null];
}

function finished(
  { status, headers, body }: Reply,
  execution: Execution,
  { retentionHours }: Times,
  sealing: Sealing,
): unknown[] {
  const nothing = Array<null>(6).fill(null);
  const sealed = sealing.seal(execution, 'reply_body', body);
  return ['finished', ...nothing, status, JSON.stringify(headers), sealed, retentionHours];
}

/** How far a key has come: recovery point, state, and the frozen request with its step and derived key. */
export function advanceValues(
  { recoveryPoint, state, request }: Advance,
  execution: Execution,
  sealing: Sealing,
): unknown[] {
  return [
    recoveryPoint,
    sealing.sealJson(execution, 'state', state),
    sealing.sealJson(execution, 'request', request?.body),
    request?.step ?? null,
    request?.derivedKey ?? null,
  ];
}
