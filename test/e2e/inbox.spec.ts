import { randomUUID } from 'node:crypto';
import { InboxConsumer } from '../../src/inbox/inbox-consumer.js';
import { InboxStore } from '../../src/inbox/inbox.store.js';
import { orderBody, post, type Answer } from '../support/checkout.js';
import { openEventShop, type EventShop } from '../support/event-shop.js';
import { holdLock } from '../support/locks.js';
import { decideReview, newestReview, OPERATORS } from '../support/operator.js';
import { spawnApi } from '../support/start-api.js';
import { eventAbout, intentOf } from '../support/webhooks.js';

type Json = Record<string, unknown>;

let shop: EventShop;
beforeAll(async () => void (shop = await openEventShop({ OPERATOR_TOKENS: OPERATORS.ada })));
afterAll(() => shop.close());
afterEach(() => shop.clean());

/** A payment that the customer has authenticated, and the event that tells of it, not sent yet. */
async function due(): Promise<{ answer: Answer; event: Json }> {
  const answer = await shop.checkout(randomUUID(), { paymentMethod: 'pm_card_authenticationRequired' });
  const intent = await intentOf(shop.provider, answer.body.charge.id);
  return {
    answer,
    event: eventAbout(intent, { status: 'succeeded', amount_received: 1700, next_action: null }),
  };
}

describe('A stored event', () => {
  it('is taken once, however often it is sent and by however many consumers [W-7]', async () => {
    const { answer, event } = await due();
    expect(await Promise.all([shop.told(event), shop.told(event), shop.told(event)])).toEqual([
      204, 204, 204,
    ]);
    expect(await shop.inbox()).toHaveLength(1);
    await Promise.all([shop.consume(), shop.consume(), shop.consume()]);
    expect(await shop.told(event)).toBe(204);
    expect(await shop.consume()).toMatchObject({ claimed: 0 });
    await shop.expectPaidOnce(answer.body.order.id);
  });

  it('takes effect once where the consumer died after its claim, and it is sent again [W-11]', async () => {
    const { answer, event } = await due();
    await shop.told(event);
    expect(await new InboxStore(shop.db.database).claim('acme', 10, 60)).toHaveLength(1); // and it dies here
    expect(await shop.api.app.get(InboxConsumer, { strict: false }).runOnce()).toMatchObject({ claimed: 0 });
    expect(await shop.told(event)).toBe(204);
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    await shop.expectPaidOnce(answer.body.order.id);
  });

  it('takes effect once where the worker is killed between claim and effect [W-11]', async () => {
    const { answer, event } = await due();
    await shop.told(event);
    const options = {
      databaseUrl: shop.db.url,
      providerUrl: shop.provider.url,
      WORKER_PORT: '0',
      ROLE: 'worker',
    };
    const release = await holdLock(shop.db, 'orders');
    const worker = await spawnApi(options);
    while ((await shop.inbox())[0]!['attempts'] === 0);
    await worker.kill('SIGKILL');
    await release();
    expect(await shop.inbox()).toMatchObject([{ applied_at: null, attempts: 1 }]);
    await shop.db.sql('UPDATE inbox_messages SET due_at = now()');
    const next = await spawnApi(options);
    while ((await shop.inbox())[0]!['applied_at'] === null);
    await next.stop();
    await shop.expectPaidOnce(answer.body.order.id);
  }, 30_000);

  it('that cannot be applied rests, and holds up no other', async () => {
    const { answer, event } = await due();
    await shop.db.sql(
      `INSERT INTO inbox_messages (tenant_id, source, id, payload) SELECT 'acme', 'stripe', 'evt_poison_' || n, '{"news": null}'
       FROM generate_series(1, 60) n`,
    );
    await shop.told(event);
    expect(await shop.consume()).toMatchObject({ claimed: 50 });
    expect(await shop.consume()).toMatchObject({ claimed: 50 });
    await shop.expectPaidOnce(answer.body.order.id);
    const [poison] = await shop.db.sql("SELECT * FROM inbox_messages WHERE id = 'evt_poison_1'");
    expect(poison).toMatchObject({ applied_at: null, last_error: 'TypeError' });
    expect(poison!['attempts']).toBeGreaterThan(0);
  });

  it('changes nothing when it comes again after its inbox row and its key are gone', async () => {
    const { answer, event } = await due();
    const key = answer.headers.get('idempotency-key');
    await shop.told(event);
    await shop.consume();
    await shop.db.sql('DELETE FROM inbox_messages');
    await shop.db.sql('DELETE FROM idempotency_keys WHERE key = $1', [key]);
    const before = await shop.books();
    expect(await shop.told(event)).toBe(204);
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    expect(await shop.books()).toEqual(before);
    expect(await shop.reviews()).toEqual([]);
    await shop.expectPaidOnce(answer.body.order.id);
  });

  it('about an order of its own is not what another key of the same name hears', async () => {
    const key = randomUUID();
    const chargeId = await shop.inDoubt(key);
    const { order_id: orderId } = await shop.chargeRow(chargeId);
    await shop.db.sql('DELETE FROM idempotency_keys WHERE key = $1', [key]);
    await post(`${shop.api.url}/v1/orders`, orderBody(), { key }); // the client has forgotten, and uses the key again
    await shop.told(eventAbout(await intentOf(shop.provider, chargeId)));
    expect(await shop.consume()).toMatchObject({ putBack: 1 });
    expect(await shop.db.sql('SELECT status FROM orders WHERE id = $1', [orderId])).toEqual([
      { status: 'pending' },
    ]);
  });
});

describe('An event that cannot be applied', () => {
  const damage = () =>
    shop.db.sql('ALTER TABLE ledger_entries ADD CONSTRAINT damaged CHECK (false) NOT VALID');
  const mend = () => shop.db.sql('ALTER TABLE ledger_entries DROP CONSTRAINT IF EXISTS damaged');
  afterEach(mend);

  const row = async ({ id }: Json) =>
    (await shop.db.sql('SELECT * FROM inbox_messages WHERE id = $1', [id]))[0]!;
  const tried = (times: number, { id }: Json) =>
    shop.db.sql('UPDATE inbox_messages SET attempts = $2 WHERE id = $1', [id, times]);

  /** An event that has failed for the last time. */
  async function dead(): Promise<{ answer: Answer; event: Json; review: any }> {
    const { answer, event } = await due();
    await shop.told(event);
    await damage();
    await tried(19, event);
    expect(await shop.consume()).toMatchObject({ claimed: 1, dead: 1 });
    return { answer, event, review: await newestReview(shop.api.url) };
  }
  const decide = (review: any, decision: string) => decideReview(shop, review.id, { decision });

  it('is left to a person after its last try, and is not tried again', async () => {
    const { answer, event, review } = await dead();
    expect(review).toMatchObject({
      subject: { kind: 'event', id: event['id'] },
      reason: 'event_not_applied',
      evidence: {
        event: event['id'],
        type: 'payment_intent.succeeded',
        provider: { about: 'charge', chargeId: answer.body.charge.id },
        attempts: 20,
        lastError: expect.stringContaining('23514') as string,
      },
    });
    expect(await row(event)).toMatchObject({ applied_at: null, attempts: 20 });
    await mend();
    expect(await shop.told(event)).toBe(204); // the provider sends it again: it is there already
    expect(await shop.consume()).toMatchObject({ claimed: 0 });
    expect(await shop.chargeRow(answer.body.charge.id)).toMatchObject({ status: 'requires_action' });
    expect(await shop.reviews()).toHaveLength(1);
  });

  it('rests until its last try', async () => {
    const { event } = await due();
    await shop.told(event);
    await damage();
    await tried(18, event);
    expect(await shop.consume()).toMatchObject({ failed: 1, dead: 0 });
    expect(await row(event)).toMatchObject({ dead_at: null, attempts: 19 });
    expect(await shop.reviews()).toEqual([]);
  });

  it('because its process dies each time is left to a person without another run', async () => {
    const { answer, event } = await due();
    await shop.told(event);
    await tried(20, event);
    expect(await shop.consume()).toMatchObject({ claimed: 1, dead: 1 });
    expect(await shop.reviews()).toMatchObject([
      { reason: 'event_not_applied', evidence: { lastError: 'its process died each time' } },
    ]);
    expect(await shop.chargeRow(answer.body.charge.id)).toMatchObject({ status: 'requires_action' });
  });

  it('because nothing of it can be read is left to a person, and holds up no other', async () => {
    const { answer, event } = await due();
    await shop.db.sql(
      `INSERT INTO inbox_messages (tenant_id, source, id, payload, attempts)
       SELECT 'acme', 'stripe', 'evt_poison_' || n, 'null', 19 FROM generate_series(1, 3) n`,
    );
    await shop.told(event);
    expect(await shop.consume()).toMatchObject({ claimed: 4, dead: 3, applied: 1 });
    await shop.expectPaidOnce(answer.body.order.id);
    expect(await shop.reviews()).toHaveLength(3);
  });

  it('of a source that this build does not know is kept for one that does', async () => {
    await shop.db.sql(
      `INSERT INTO inbox_messages (tenant_id, source, id, payload, attempts) VALUES ('acme', 'later', 'm', '{}', 50)`,
    );
    expect(await shop.consume()).toMatchObject({ failed: 1, dead: 0 });
    expect(await shop.reviews()).toEqual([]);
  });

  it('is applied once the person says retry, with all its tries before it', async () => {
    const { answer, event, review } = await dead();
    await mend();
    expect((await decide(review, 'retry')).status).toBe(200);
    expect(await row(event)).toMatchObject({ dead_at: null, attempts: 0 });
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    await shop.expectPaidOnce(answer.body.order.id);
    const before = await row(event);
    expect((await decide(review, 'retry')).status).toBe(200); // again: nothing happens again
    expect(await row(event)).toEqual(before);
  });

  it('is another question where it fails again', async () => {
    const { event, review } = await dead();
    await decide(review, 'retry');
    await tried(19, event);
    expect(await shop.consume()).toMatchObject({ dead: 1 });
    expect((await newestReview(shop.api.url)).id).not.toBe(review.id);
  });

  it.each(['mark_failed', 'mark_succeeded'])('stays unapplied where the person says %s', async (decision) => {
    const { event, review } = await dead();
    await mend();
    const answer = await decideReview(shop, review.id, {
      decision,
      ...(decision === 'mark_succeeded' && { providerId: 'pi_1' }),
    });
    expect(answer.status).toBe(200);
    expect(await shop.consume()).toMatchObject({ claimed: 0 });
    expect(await row(event)).toMatchObject({ applied_at: null, dead_at: expect.any(Date) as Date });
  });
});

describe('An event that was applied as a question', () => {
  it('is applied again once the person says retry: it asks again, or takes effect now', async () => {
    const { answer, event } = await due();
    const elsewhere = 'ch_01kbn9sg6de5pv2m8w4f3tqz7x';
    const { object } = event['data'] as { object: Json };
    object['metadata'] = { ...(object['metadata'] as Json), charge_id: elsewhere };
    await shop.told(event);
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    const first = await newestReview(shop.api.url);
    expect(first).toMatchObject({ reason: 'charge_unknown' });

    await decideReview(shop, first.id, { decision: 'retry' });
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    const second = await newestReview(shop.api.url);
    expect([second.reason, second.id === first.id]).toEqual(['charge_unknown', false]);

    await shop.db.sql('UPDATE inbox_messages SET payload = replace(payload::text, $1, $2)::json', [
      elsewhere,
      answer.body.charge.id,
    ]); // as if the row had come back
    await decideReview(shop, second.id, { decision: 'retry' });
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    await shop.expectPaidOnce(answer.body.order.id);
  });
});
