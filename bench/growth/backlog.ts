import { AbandonedKeyStore } from '../../src/idempotency/abandoned-key.store.js';
import { Sealing } from '../../src/idempotency/sealing.js';
import { MessageHandlers } from '../../src/outbox/delivery.js';
import { OutboxStore, type Claim } from '../../src/outbox/outbox.store.js';
import { Relay } from '../../src/outbox/relay.js';
import { ACME } from '../../test/support/start-api.js';
import { quantile } from '../outcome.js';
import { connect } from '../own-database.js';
import type { Service } from '../service.js';
import type { BenchDatabase } from '../stage.js';

/** What a statement took, one after the other, in milliseconds. */
export class Timed {
  readonly took: number[] = [];

  async of<T>(work: () => Promise<T>): Promise<T> {
    const begun = performance.now();
    try {
      return await work();
    } finally {
      this.took.push(performance.now() - begun);
    }
  }

  get p50(): number {
    return quantile(this.took, 0.5);
  }

  get most(): number {
    return Math.max(0, ...this.took);
  }
}

class TimedOutbox extends OutboxStore {
  readonly claims = new Timed();

  override claim(...claim: Parameters<OutboxStore['claim']>): Promise<Claim> {
    return this.claims.of(() => super.claim(...claim));
  }
}

export interface Drain {
  readonly perSecond: number;
  /** Of `messages`; the rest was not claimed. */
  readonly sent: number;
  readonly claims: Timed;
}

/** Stages so many messages, each in an order of its own, and relays them all to a handler that does nothing. */
export async function drain(database: BenchDatabase, messages: number): Promise<Drain> {
  await database.sql(STAGE, [ACME.tenant, messages]);
  const own = await connect(database.url);
  const store = new TimedOutbox(own);
  const handlers = new MessageHandlers();
  // The receipts of the checkouts before wait as well: tried in vain they would come back, and be waited for.
  for (const topic of ['bench', 'receipt']) handlers.register({ topic, deliver: () => Promise.resolve() });
  const relay = new Relay(store, handlers);
  const begun = performance.now();
  let sent = 0;
  for (let round = await relay.runOnce(); round.claimed > 0; round = await relay.runOnce())
    sent += round.sent;
  const seconds = (performance.now() - begun) / 1_000;
  await own.close();
  return { perSecond: sent / seconds, sent, claims: store.claims };
}

/** How long the completer takes to find its next key among so many that are due. They are gone afterwards. */
export async function claimAbandoned(
  { database, config }: Service,
  keys: number,
  claims: number,
): Promise<Timed> {
  await database.sql(ABANDON, [ACME.tenant, keys]);
  const own = await connect(database.url);
  const store = new AbandonedKeyStore(own, new Sealing(config), config);
  const timed = new Timed();
  for (let n = 0; n < claims; n++) {
    const claimed = await timed.of(() => store.claim(ACME.tenant));
    if (!claimed) throw new Error('An abandoned key was not found');
  }
  await own.close();
  await database.sql("DELETE FROM idempotency_keys WHERE tenant_id = $1 AND status = 'in_progress'", [
    ACME.tenant,
  ]);
  return timed;
}

const STAGE = `
  INSERT INTO outbox_messages (tenant_id, id, dedupe_key, topic, ordering_key, payload, due_at)
  SELECT $1, 'msg_bench_' || n, 'bench:' || n, 'bench', 'bench:' || n, '{}', now() - n * interval '1 ms'
    FROM generate_series(1, $2::int) AS n`;

const ABANDON = `
  INSERT INTO idempotency_keys (tenant_id, key, id, operation, fingerprint_scheme, fingerprint, member_hashes, status,
     recovery_point, input, owner, version, locked_until, next_run_at, attempts, request_id)
  SELECT $1, gen_random_uuid()::text, 'idem_abandoned_' || n, 'checkout', 1, decode(repeat('00', 32), 'hex'), '{}',
     'in_progress', 'order_created', '{}', gen_random_uuid(), 1, now() - interval '1 h',
     now() - n * interval '1 ms', 1, 'req_abandoned'
    FROM generate_series(1, $2::int) AS n`;
