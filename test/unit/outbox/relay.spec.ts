import { randomUUID } from 'node:crypto';
import { MessageHandlers, type MessageHandler, type StagedMessage } from '../../../src/outbox/delivery.js';
import { Outbox, type OutboxMessage } from '../../../src/outbox/outbox.js';
import { OutboxStore } from '../../../src/outbox/outbox.store.js';
import { Relay, type RelaySettings } from '../../../src/outbox/relay.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

/** Writes down what it delivers; a payload can tell it to fail or never to settle. */
class Recorder implements MessageHandler {
  readonly topic = 'test';
  readonly delivered: string[] = [];
  readonly abandoned: string[] = [];
  atOnce = 0;
  mostAtOnce = 0;

  async deliver({ dedupeKey, payload }: StagedMessage, signal: AbortSignal): Promise<void> {
    const { fails, hangs } = payload as { fails?: string; hangs?: boolean };
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.atOnce);
    signal.addEventListener('abort', () => this.abandoned.push(dedupeKey));
    if (hangs) await new Promise(() => undefined);
    await new Promise(setImmediate);
    this.atOnce -= 1;
    if (fails !== undefined) throw new Error(fails);
    this.delivered.push(dedupeKey);
  }
}

interface Row {
  dedupe_key: string;
  attempts: number;
  claim_token: string | null;
  last_error: string | null;
  sent_at: Date | null;
  dead_at: Date | null;
  due_in: number;
}

describe('The relay', () => {
  let db: TestDatabase;
  let store: OutboxStore;
  let recorder: Recorder;
  const outbox = new Outbox();

  beforeAll(async () => {
    db = await createTestDatabase();
    store = new OutboxStore(db.database);
  });
  afterAll(() => db.drop());
  beforeEach(async () => {
    recorder = new Recorder();
    await db.sql('DELETE FROM outbox_messages');
  });

  const relayOf = (settings: Partial<RelaySettings> = {}) => {
    const handlers = new MessageHandlers();
    handlers.register(recorder);
    return new Relay(store, handlers, settings);
  };
  const stage = (...messages: Partial<OutboxMessage>[]) =>
    db.database.transaction(async (tx) => {
      for (const message of messages) {
        outbox.add(tx, { tenantId: 'acme', topic: 'test', dedupeKey: randomUUID(), payload: {}, ...message });
      }
    });
  const row = async (dedupeKey: string) => {
    const [found] = await db.sql<Row>(
      'SELECT *, extract(epoch FROM due_at - now())::float8 AS due_in FROM outbox_messages WHERE dedupe_key = $1',
      [dedupeKey],
    );
    return found!;
  };
  const makeDue = () =>
    db.sql("UPDATE outbox_messages SET due_at = now() - interval '1 second' WHERE due_at IS NOT NULL");
  const nothing = { claimed: 0, sent: 0, failed: 0, dead: 0, released: 0, lost: 0 };

  describe('delivers what was committed', () => {
    it('once, and not again [WO-5]', async () => {
      await stage({ dedupeKey: 'a' }, { dedupeKey: 'b' });
      expect(await relayOf().runOnce()).toEqual({ ...nothing, claimed: 2, sent: 2 });
      expect(await relayOf().runOnce()).toEqual(nothing);
      expect(recorder.delivered.sort()).toEqual(['a', 'b']);
      expect(await row('a')).toMatchObject({ sent_at: expect.any(Date), claim_token: null, attempts: 1 });
    });

    it('hands the handler what was staged', async () => {
      const got: StagedMessage[] = [];
      const handlers = new MessageHandlers();
      handlers.register({ topic: 'test', deliver: async (message) => void got.push(message) });
      await stage({ dedupeKey: 'a', payload: { text: 'ä\u2028"', list: [1, null] } });
      await new Relay(store, handlers).runOnce();
      expect(got).toEqual([
        {
          tenantId: 'acme',
          id: expect.stringMatching(/^msg_/),
          dedupeKey: 'a',
          topic: 'test',
          payload: { text: 'ä\u2028"', list: [1, null] },
          sequence: expect.any(Number),
          createdAt: expect.any(Date),
          attempts: 1,
        },
      ]);
    });

    it('of every tenant in each round, however much one of them has', async () => {
      await stage(...Array.from({ length: 30 }, () => ({ tenantId: 'acme' })));
      await stage({ tenantId: 'globex', dedupeKey: 'g' }, { tenantId: 'initech', dedupeKey: 'i' });
      expect(await relayOf({ batchSize: 10, tenantsAtOnce: 1 }).runOnce()).toMatchObject({
        claimed: 12,
        sent: 12,
      });
      expect(recorder.delivered).toEqual(expect.arrayContaining(['g', 'i']));
    });

    it('also where a low sequence commits after a higher one was sent [WO-5]', async () => {
      let commitLow = (): void => undefined;
      const released = new Promise<void>((resolve) => (commitLow = resolve));
      let staged = (): void => undefined;
      const lowIsStaged = new Promise<void>((resolve) => (staged = resolve));
      const low = db.database.transaction(async (tx) => {
        outbox.add(tx, { tenantId: 'acme', topic: 'test', dedupeKey: 'low', payload: {} });
        await tx.settle();
        staged();
        await released;
      });
      await lowIsStaged;
      await stage({ dedupeKey: 'high' });
      expect(await relayOf().runOnce()).toMatchObject({ sent: 1 });

      commitLow();
      await low;
      expect(await relayOf().runOnce()).toMatchObject({ sent: 1 });
      expect(recorder.delivered).toEqual(['high', 'low']);
      const order = await db.sql('SELECT dedupe_key FROM outbox_messages ORDER BY sequence');
      expect(order).toEqual([{ dedupe_key: 'low' }, { dedupe_key: 'high' }]);
    });

    it('at most so many at a time', async () => {
      await stage(...Array.from({ length: 40 }, () => ({})));
      await relayOf({ deliveriesAtOnce: 4 }).runOnce();
      expect(recorder.mostAtOnce).toBe(4);
      expect(recorder.delivered).toHaveLength(40);
    });

    it('with no transaction open while a handler works', async () => {
      const handlers = new MessageHandlers();
      const open: unknown[] = [];
      handlers.register({
        topic: 'test',
        deliver: async () => {
          open.push(
            ...(await db.sql(`SELECT query FROM pg_stat_activity WHERE datname = current_database()
                                AND state LIKE 'idle in transaction%'`)),
          );
        },
      });
      await stage({}, {});
      expect(await new Relay(store, handlers).runOnce()).toMatchObject({ sent: 2 });
      expect(open).toEqual([]);
    });
  });

  describe('shares the work with other relays', () => {
    it('two at once deliver each message once [WO-5]', async () => {
      await stage(
        ...Array.from({ length: 300 }, () => ({})),
        ...Array.from({ length: 300 }, () => ({ tenantId: 'globex' })),
      );
      const relays = [relayOf({ batchSize: 20 }), relayOf({ batchSize: 20 }), relayOf({ batchSize: 20 })];
      const drain = async (relay: Relay) => {
        let sent = 0;
        for (let counts = await relay.runOnce(); counts.claimed > 0; counts = await relay.runOnce()) {
          expect(counts).toMatchObject({ lost: 0, failed: 0 });
          sent += counts.sent;
        }
        return sent;
      };
      const sent = await Promise.all(relays.map(drain));
      expect(sent.reduce((sum, count) => sum + count)).toBe(600);
      expect(recorder.delivered).toHaveLength(600);
      expect(new Set(recorder.delivered).size).toBe(600);
    });

    it('leaves a claimed message alone until its lease ends, then delivers it: the dead relay cost one attempt [WO-5]', async () => {
      await stage({ dedupeKey: 'a' });
      await store.claim('acme', 10, 60); // and this relay is never heard of again
      expect(await relayOf().runOnce()).toEqual(nothing);
      await makeDue();
      expect(await relayOf().runOnce()).toMatchObject({ sent: 1 });
      expect(await row('a')).toMatchObject({ attempts: 2, sent_at: expect.any(Date) });
    });

    it('a relay that lost its claim marks nothing [WO-5]', async () => {
      await stage({ dedupeKey: 'a' });
      const stale = await store.claim('acme', 10, 60);
      await makeDue();
      const current = await store.claim('acme', 10, 60);
      const before = await row('a');

      const id = stale.messages[0]!.id;
      for (const kind of ['sent', 'released'] as const) {
        expect(await store.mark(stale, [{ id, outcome: { kind } }])).toEqual(new Set());
      }
      expect(await store.mark(stale, [{ id, outcome: { kind: 'dead', error: 'stale' } }])).toEqual(new Set());
      expect(
        await store.mark(stale, [{ id, outcome: { kind: 'failed', error: 'stale', retryInSeconds: 9 } }]),
      ).toEqual(new Set());
      expect({ ...(await row('a')), due_in: 0 }).toEqual({ ...before, due_in: 0 });

      expect(await store.mark(current, [{ id, outcome: { kind: 'sent' } }])).toEqual(new Set([id]));
      expect((await row('a')).sent_at).not.toBeNull();
    });

    it('counts as lost what was taken over while it was being delivered', async () => {
      await stage({ dedupeKey: 'a' });
      const handlers = new MessageHandlers();
      handlers.register({
        topic: 'test',
        deliver: async () => {
          await makeDue();
          await store.claim('acme', 10, 60);
        },
      });
      expect(await new Relay(store, handlers).runOnce()).toEqual({ ...nothing, claimed: 1, lost: 1 });
      expect((await row('a')).sent_at).toBeNull();
    });
  });

  describe('goes on where a message fails', () => {
    it('tries it again after a backoff, and says why it failed', async () => {
      await stage({ dedupeKey: 'bad', payload: { fails: 'no such \0 mailbox' } }, { dedupeKey: 'good' });
      expect(await relayOf().runOnce()).toEqual({ ...nothing, claimed: 2, sent: 1, failed: 1 });
      const bad = await row('bad');
      expect(bad).toMatchObject({
        attempts: 1,
        claim_token: null,
        last_error: 'no such  mailbox',
        sent_at: null,
        dead_at: null,
      });
      expect(bad.due_in).toBeLessThanOrEqual(1);

      await db.sql("UPDATE outbox_messages SET payload = '{}' WHERE dedupe_key = 'bad'");
      await makeDue();
      expect(await relayOf().runOnce()).toMatchObject({ sent: 1 });
      expect(await row('bad')).toMatchObject({ attempts: 2, last_error: null });
    });

    it.each(['\0', '\ud800', `${'x'.repeat(499)}😀`])('whatever text its error has: %j', async (fails) => {
      await stage({ dedupeKey: 'bad', payload: { fails } });
      expect(await relayOf().runOnce()).toMatchObject({ failed: 1 });
      expect(await row('bad')).toMatchObject({
        attempts: 1,
        claim_token: null,
        last_error: expect.any(String),
      });
    });

    it('gives it up after the last try, and never claims it again', async () => {
      await stage({ dedupeKey: 'bad', payload: { fails: 'no' } });
      const relay = relayOf({ maxAttempts: 3 });
      const rounds = [];
      for (let round = 0; round < 4; round++) {
        rounds.push(await relay.runOnce());
        await makeDue();
      }
      expect(rounds.map(({ failed, dead, claimed }) => [claimed, failed, dead])).toEqual([
        [1, 1, 0],
        [1, 1, 0],
        [1, 0, 1],
        [0, 0, 0],
      ]);
      expect(await row('bad')).toMatchObject({ attempts: 3, dead_at: expect.any(Date), last_error: 'no' });
    });

    it('gives it up undelivered when every relay that claimed it died', async () => {
      await stage({ dedupeKey: 'deadly' });
      for (let claim = 0; claim < 3; claim++) {
        await store.claim('acme', 10, 60);
        await makeDue();
      }
      expect(await relayOf({ maxAttempts: 3 }).runOnce()).toMatchObject({ dead: 1 });
      expect(recorder.delivered).toEqual([]);
      expect((await row('deadly')).last_error).toMatch('No try ended');
    });

    it('gives up waiting for a handler that never settles, and tells it so', async () => {
      await stage({ dedupeKey: 'stuck', payload: { hangs: true } }, { dedupeKey: 'good' });
      expect(await relayOf({ deliveryTimeoutMs: 50 }).runOnce()).toMatchObject({ sent: 1, failed: 1 });
      expect(await row('stuck')).toMatchObject({ last_error: 'Not settled within 50 ms' });
      expect(recorder.abandoned).toEqual(['stuck']);
    });

    it('keeps a message of an unknown topic, and the others are not kept waiting', async () => {
      await stage({ dedupeKey: 'new', topic: 'not_deployed_yet' }, { dedupeKey: 'good' });
      expect(await relayOf().runOnce()).toMatchObject({ sent: 1, failed: 1 });
      expect(await row('new')).toMatchObject({
        attempts: 1,
        last_error: 'No handler is registered for the topic "not_deployed_yet"',
      });
    });

    it('puts back untried what it could not begin in time: that was no attempt', async () => {
      await stage({ dedupeKey: 'a' }, { dedupeKey: 'b' });
      expect(await relayOf({ startWithinMs: 0 }).runOnce()).toEqual({ ...nothing, claimed: 2, released: 2 });
      expect(await row('a')).toMatchObject({ attempts: 0, claim_token: null });
      expect(await relayOf().runOnce()).toMatchObject({ sent: 2 });
    });

    it('begins nothing more once it is told to stop', async () => {
      await stage({}, {});
      const stop = new AbortController();
      const handlers = new MessageHandlers();
      handlers.register({ topic: 'test', deliver: async () => stop.abort() });
      const counts = await new Relay(store, handlers, { deliveriesAtOnce: 1 }).runOnce(stop.signal);
      expect(counts).toEqual({ ...nothing, claimed: 2, sent: 1, released: 1 });
    });
  });

  describe('keeps the order of an ordering key', () => {
    const inOrder = (dedupeKey: string, payload: object = {}) => ({
      dedupeKey,
      payload,
      orderingKey: 'ord_1',
    });

    it('sends a message only once its predecessor is sent', async () => {
      await stage(inOrder('1'), inOrder('2'), inOrder('3'), { dedupeKey: 'other' });
      const sent = [];
      for (let round = 0; round < 4; round++) sent.push((await relayOf().runOnce()).sent);
      expect(sent).toEqual([2, 1, 1, 0]);
      expect(recorder.delivered.filter((key) => key !== 'other')).toEqual(['1', '2', '3']);
    });

    it('waits for a predecessor that another relay holds', async () => {
      await stage(inOrder('1'), inOrder('2'));
      const claim = await store.claim('acme', 1, 60);
      expect(await relayOf().runOnce()).toEqual(nothing);
      await store.mark(claim, [{ id: claim.messages[0]!.id, outcome: { kind: 'sent' } }]);
      expect(await relayOf().runOnce()).toMatchObject({ sent: 1 });
      expect(recorder.delivered).toEqual(['2']);
    });

    it('waits while a predecessor is tried again, and is due no sooner than it', async () => {
      await stage(inOrder('1'), inOrder('2'), inOrder('3'), { dedupeKey: 'other' });
      const claim = await store.claim('acme', 1, 60);
      const id = claim.messages[0]!.id;
      await store.mark(claim, [{ id, outcome: { kind: 'failed', error: 'down', retryInSeconds: 600 } }]);
      expect(await relayOf().runOnce()).toMatchObject({ claimed: 1 }); // the other
      for (const waiting of ['2', '3']) expect((await row(waiting)).due_in).toBeCloseTo(600, -1);
      expect(await store.tenantsWithDueMessages()).toEqual([]);

      await makeDue();
      for (const next of ['1', '2', '3']) {
        await relayOf().runOnce();
        expect(recorder.delivered.at(-1)).toBe(next);
      }
    });

    it('does not put off what waits for a message that is being delivered', async () => {
      await stage(inOrder('1'), inOrder('2'));
      const claim = await store.claim('acme', 10, 60);
      expect(claim.messages).toHaveLength(1);
      expect((await row('2')).due_in).toBeLessThanOrEqual(0);
    });

    it('goes on after a dead letter', async () => {
      await stage(inOrder('1', { fails: 'no' }), inOrder('2'));
      const relay = relayOf({ maxAttempts: 1 });
      expect(await relay.runOnce()).toMatchObject({ dead: 1, claimed: 1 });
      expect(await relay.runOnce()).toMatchObject({ sent: 1 });
    });

    it('holds within one tenant only', async () => {
      await stage(inOrder('1', { fails: 'down' }), { ...inOrder('2'), tenantId: 'globex' });
      expect(await relayOf().runOnce()).toMatchObject({ failed: 1, sent: 1 });
    });
  });

  it('marks what it delivered in few statements, however many messages there are', async () => {
    await stage(...Array.from({ length: 500 }, () => ({})));
    const marks: number[] = [];
    class Counted extends OutboxStore {
      override mark(...[claim, batch]: Parameters<OutboxStore['mark']>) {
        marks.push(batch.length);
        return super.mark(claim, batch);
      }
    }
    const handlers = new MessageHandlers();
    handlers.register(recorder);
    await new Relay(new Counted(db.database), handlers).runOnce();
    expect(marks.reduce((sum, length) => sum + length)).toBe(500);
    expect(marks.length).toBeLessThan(20);
  });

  it('reports a database that fails, and delivers again what it could not mark', async () => {
    await stage({ dedupeKey: 'a' });
    class Broken extends OutboxStore {
      override mark(): Promise<Set<string>> {
        return Promise.reject(new Error('connection lost'));
      }
    }
    const handlers = new MessageHandlers();
    handlers.register(recorder);
    await expect(new Relay(new Broken(db.database), handlers).runOnce()).rejects.toThrow('connection lost');
    await makeDue();
    expect(await relayOf().runOnce()).toMatchObject({ sent: 1 });
    expect(recorder.delivered).toEqual(['a', 'a']);
  });
});
