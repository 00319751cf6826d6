import { randomUUID } from 'node:crypto';
import { InboxConsumer } from '../../src/inbox/inbox-consumer.js';
import { InboxStore } from '../../src/inbox/inbox.store.js';
import { orderBody, post, type Answer } from '../support/checkout.js';
import { openEventShop, type EventShop } from '../support/event-shop.js';
import { holdLock } from '../support/locks.js';
import { spawnApi } from '../support/start-api.js';
import { eventAbout, intentOf } from '../support/webhooks.js';

type Json = Record<string, unknown>;

let shop: EventShop;
beforeAll(async () => void (shop = await openEventShop()));
afterAll(() => shop.close());
afterEach(() => shop.clean());

describe('A stored event', () => {
  const due = async (): Promise<{ answer: Answer; event: Json }> => {
    const answer = await shop.checkout(randomUUID(), { paymentMethod: 'pm_card_authenticationRequired' });
    const intent = await intentOf(shop.provider, answer.body.charge.id);
    return {
      answer,
      event: eventAbout(intent, { status: 'succeeded', amount_received: 1700, next_action: null }),
    };
  };

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
