import { randomUUID } from 'node:crypto';
import { post } from '../support/checkout.js';
import { openEventShop, type EventShop } from '../support/event-shop.js';
import { call, PAY } from '../support/stripe-wire.js';
import { authenticate, intentOf } from '../support/webhooks.js';
import { Sweep, type SweepCounts } from '../../src/webhooks/sweep.js';

let shop: EventShop;
beforeAll(async () => void (shop = await openEventShop()));
afterAll(() => shop.close());
afterEach(() => shop.clean());

/** One sweep, once it is due. What it finds is in the inbox then. */
async function sweep(): Promise<SweepCounts> {
  await shop.db.sql('UPDATE sweeps SET due_at = now()');
  return runOnce();
}
const runOnce = () => shop.api.app.get(Sweep, { strict: false }).runOnce();

/** A payment at the provider that carries our metadata, and that we know nothing of. */
async function orphan(metadata: Record<string, string>): Promise<void> {
  const entries = Object.entries(metadata).map(([name, value]) => [`metadata[${name}]`, value]);
  await call(`${shop.provider.url}/v1/payment_intents`, { ...PAY, ...Object.fromEntries(entries) });
}

const ORPHAN = { charge_id: 'ch_01kbn9sg6de5pv2m8w4f3tqz7x', order_id: 'ord_01kbn9sg6de5pv2m8w4f3tqz7x' };

describe('The sweep', () => {
  it('finds nothing where both sides agree, however many there are', async () => {
    for (let count = 0; count < 101; count++) await shop.checkout();
    await shop.checkout(randomUUID(), { paymentMethod: 'pm_card_chargeDeclined' });
    await shop.checkout(randomUUID(), { paymentMethod: 'pm_card_authenticationRequired' });
    const { body } = await shop.checkout();
    await post(`${shop.api.url}/v1/charges/${body.charge.id}/refunds`, { amount: 100 });
    expect(await sweep()).toEqual({ compared: 105, differing: 0, told: 0 });
  }, 60_000);

  it('pays the order of a customer whom no event told of', async () => {
    const { body } = await shop.checkout(randomUUID(), { paymentMethod: 'pm_card_authenticationRequired' });
    await authenticate(shop.provider, (await intentOf(shop.provider, body.charge.id))['id'], 'succeed');
    expect(await sweep()).toMatchObject({ differing: 1, told: 1 });
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    await shop.expectPaidOnce(body.order.id);
    expect(await sweep()).toMatchObject({ differing: 0 });
  });

  it('finishes a key in doubt, with its normal reply', async () => {
    const key = randomUUID();
    const chargeId = await shop.inDoubt(key);
    expect(await sweep()).toMatchObject({ told: 1 });
    expect(await shop.consume()).toMatchObject({ applied: 1 });
    const answer = await shop.checkout(key);
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(answer.body.charge).toMatchObject({ id: chargeId, status: 'succeeded' });
  });

  it('settles a refund whose event was lost', async () => {
    const { body } = await shop.checkout(randomUUID(), { paymentMethod: 'pm_card_pendingRefund' });
    const refund = await post(`${shop.api.url}/v1/charges/${body.charge.id}/refunds`, {});
    const { refunds } = await shop.provider.ledger();
    const { id } = refunds.find(({ metadata }) => metadata['refund_id'] === refund.body.id)!;
    await fetch(`${shop.provider.url}/_settle/${id}`, { method: 'POST' });
    expect(await sweep()).toMatchObject({ told: 1 });
    await shop.consume();
    expect(await shop.db.sql('SELECT status FROM refunds WHERE id = $1', [refund.body.id])).toEqual([
      { status: 'succeeded' },
    ]);
  });

  it('asks a person, once, about money that we know nothing of', async () => {
    await orphan({ tenant_id: 'acme', ...ORPHAN });
    expect(await sweep()).toMatchObject({ differing: 1, told: 1 });
    await shop.consume();
    expect(await shop.reviews()).toMatchObject([
      { subject_kind: 'event', reason: 'charge_unknown', evidence: { type: 'swept' } },
    ]);
    expect(await sweep()).toMatchObject({ differing: 1, told: 0 });
  });

  it('asks a person about money that was taken although we said that it was not', async () => {
    const { body } = await shop.checkout();
    await shop.db.sql("UPDATE charges SET status = 'declined' WHERE id = $1", [body.charge.id]);
    await sweep();
    await shop.consume();
    expect(await shop.reviews()).toContainEqual(
      expect.objectContaining({ subject_id: body.charge.id, reason: 'charged_after_all' }),
    );
    await shop.db.sql("UPDATE charges SET status = 'succeeded', owed_back = false WHERE id = $1", [
      body.charge.id,
    ]);
  });

  it('passes over what is of other deployments and other programs', async () => {
    const { differing } = await sweep();
    await orphan({ tenant_id: 'of_another_deployment', ...ORPHAN });
    await orphan({});
    expect(await sweep()).toMatchObject({ differing });
  });

  it('is made by one process at a time, and not again before it is due', async () => {
    await shop.db.sql('UPDATE sweeps SET due_at = now()');
    const rounds = await Promise.all([runOnce(), runOnce(), runOnce()]);
    expect(rounds.filter(({ compared }) => compared > 0)).toHaveLength(1);
    expect(await runOnce()).toMatchObject({ compared: 0 });
  });

  it('that could not be made is made later, by whoever comes first', async () => {
    await shop.provider.fault('search_down');
    await expect(sweep()).rejects.toThrow();
    const [due] = await shop.db.sql(
      "SELECT due_at > now() AND due_at <= now() + interval '1 hour' AS soon FROM sweeps",
    );
    expect(due).toEqual({ soon: true });
    expect((await sweep()).compared).toBeGreaterThan(0);
  });
});
