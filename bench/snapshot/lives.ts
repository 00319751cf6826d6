import pg from 'pg';
import { ACME } from '../../test/support/start-api.js';
import type { BenchDatabase } from '../stage.js';

/** As a report or a dump that runs for an hour: no dead row is cleared away that it could still see. */
export async function holdSnapshot({ url }: BenchDatabase): Promise<() => Promise<void>> {
  const options = '-c idle_in_transaction_session_timeout=0';
  const client = new pg.Client({ connectionString: url, options });
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT count(*) FROM tenants');
  return () => client.end();
}

/** What keys and messages go through, in the same columns, many at a time: due, claimed or held, and done with. */
export async function comeAndGo(database: BenchDatabase, count: number, step: number): Promise<void> {
  for (const [into, claimed, done] of LIVES) {
    await database.sql(into, [ACME.tenant, count, step]);
    await database.sql(claimed, [ACME.tenant]);
    await database.sql(done, [ACME.tenant]);
  }
}

const LIVES = [
  [
    `INSERT INTO outbox_messages (tenant_id, id, dedupe_key, topic, ordering_key, payload, due_at)
     SELECT $1, concat('msg_', $3::int, '_', n), concat('done:', $3::int, ':', n), 'done', concat('done:', n), '{}', now()
       FROM generate_series(1, $2::int) AS n`,
    `UPDATE outbox_messages SET due_at = now() + interval '60 s', attempts = 1 WHERE tenant_id = $1 AND topic = 'done' AND sent_at IS NULL`,
    `UPDATE outbox_messages SET due_at = NULL, sent_at = now() WHERE tenant_id = $1 AND topic = 'done' AND sent_at IS NULL`,
  ],
  [
    `INSERT INTO idempotency_keys (tenant_id, key, id, operation, fingerprint_scheme, fingerprint, member_hashes, status,
       recovery_point, owner, version, locked_until, next_run_at, attempts, request_id)
     SELECT $1, gen_random_uuid()::text, concat('idem_', $3::int, '_', n), 'done', 1, decode(repeat('00', 32), 'hex'), '{}',
       'in_progress', 'order_created', gen_random_uuid(), 1, now(), now() - interval '1 h', 1, 'req'
       FROM generate_series(1, $2::int) AS n`,
    `UPDATE idempotency_keys SET version = 2, locked_until = now() + interval '30 s' WHERE tenant_id = $1 AND status = 'in_progress'`,
    `UPDATE idempotency_keys SET status = 'finished', version = 3, reply_status = 201, reply_body = '', locked_until = NULL,
       expires_at = now() + interval '72 h' WHERE tenant_id = $1 AND status = 'in_progress'`,
  ],
] as const;
