import { randomUUID } from 'node:crypto';
import { post } from '../support/checkout.js';
import { openEventShop, type EventShop } from '../support/event-shop.js';
import { call, PAY } from '../support/stripe-wire.js';
import { authenticate, intentOf } from '../support/webhooks.js';
import { Confirmations, type ConfirmationCounts } from '../../src/webhooks/confirmations.js';
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
const unconfirmed = async () =>
  (
    await shop.db.sql(`SELECT id FROM charges WHERE status = 'succeeded' AND confirmed_at IS NULL
      UNION ALL SELECT id FROM refunds WHERE status = 'succeeded' AND confirmed_at IS NULL`)
  ).length;
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
    expect(await sweep()).toEqual({ compared: 105, differing: 0, told: 0, asked: 0, questioned: 0 });
    expect(await unconfirmed()).toBe(0);
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

describe('The sweep, of what we hold for paid or refunded', () => {
  interface Made {
    readonly id: string;
    readonly providerId: string;
  }
  const idOf = async (table: 'charges' | 'refunds', id: string): Promise<string> =>
    (await shop.db.sql<{ provider_id: string }>(`SELECT provider_id FROM ${table} WHERE id = $1`, [id]))[0]!
      .provider_id;
  async function charged(changes: Record<string, unknown> = {}): Promise<Made> {
    const { body } = await shop.checkout(randomUUID(), changes);
    return { id: body.charge.id, providerId: await idOf('charges', body.charge.id) };
  }
  async function refunded(changes: Record<string, unknown> = {}): Promise<Made> {
    const { id: chargeId } = await charged(changes);
    const { body } = await post(`${shop.api.url}/v1/charges/${chargeId}/refunds`, { amount: 700 });
    expect(body.status).toBe('succeeded');
    return { id: body.id, providerId: await idOf('refunds', body.id) };
  }
  const settle = ({ providerId }: Made) =>
    fetch(`${shop.provider.url}/_settle/${providerId}`, { method: 'POST' });
  beforeEach(sweep); // what other tests made is confirmed
  beforeEach(() => shop.clean());

  const MADE = [
    ['charge', charged, 1700],
    ['refund', refunded, 700],
  ] as const;

  /** More of our charges than one batch has are not confirmed. @returns how many */
  async function manyUnconfirmed(): Promise<number> {
    for (let count = await unconfirm(); count <= 100; count++) await shop.checkout();
    return unconfirm();
  }
  async function unconfirm(): Promise<number> {
    await shop.db.sql("UPDATE charges SET confirmed_at = NULL WHERE status = 'succeeded'");
    return unconfirmed();
  }
  async function seek(): Promise<ConfirmationCounts> {
    const [{ now }] = (await shop.db.sql<{ now: string }>('SELECT now()::text AS now')) as [{ now: string }];
    return shop.api.app.get(Confirmations, { strict: false }).seek(now, new AbortController().signal);
  }

  it('asks about each of them by its name where the list showed none, batch by batch', async () => {
    const count = await manyUnconfirmed();
    expect(await seek()).toEqual({ asked: count, questioned: 0 });
    expect(await unconfirmed()).toBe(0);
    expect(await seek()).toEqual({ asked: 0, questioned: 0 });
  }, 60_000);

  it('leaves them for later where the provider does not answer, and does not ask about all of them', async () => {
    const count = await manyUnconfirmed();
    await shop.provider.fault('down', { times: 1 });
    await expect(seek()).rejects.toThrow('The provider cannot be asked');
    expect(await unconfirmed()).toBe(count);
    expect(await shop.reviews()).toEqual([]);
    await shop.provider.clearFaults();
    expect(await seek()).toEqual({ asked: count, questioned: 0 });
  }, 60_000);

  it('leaves what is younger than its list for the next one', async () => {
    const { id } = await charged();
    await shop.db.sql("UPDATE charges SET created_at = now() + interval '1 h' WHERE id = $1", [id]);
    expect(await seek()).toEqual({ asked: 0, questioned: 0 });
    await shop.db.sql('UPDATE charges SET created_at = now() WHERE id = $1', [id]);
    expect(await seek()).toEqual({ asked: 1, questioned: 0 });
  });

  it.each(MADE)(
    'asks a person, once, about a %s that the provider does not know',
    async (kind, make, amount) => {
      const { id, providerId } = await make();
      await shop.provider.forget(providerId);
      const row = async () => (await shop.db.sql(`SELECT * FROM ${kind}s WHERE id = $1`, [id]))[0];
      const before = await row();
      expect(await sweep()).toMatchObject({ asked: 1, questioned: 1 });
      expect(await row()).toEqual({ ...before, confirmed_at: expect.any(Date) as Date });
      expect(await shop.reviews()).toEqual([
        {
          subject_kind: kind,
          subject_id: id,
          reason: 'unknown_to_provider',
          evidence: {
            providerId,
            ours: { status: 'succeeded', amount, currency: 'eur' },
            differs: `${providerId} is unknown to the provider`,
          },
        },
      ]);
      await shop.db.sql("UPDATE reviews SET decision = 'retry', decided_at = now()");
      expect(await sweep()).toMatchObject({ asked: 0, questioned: 0 });
      expect(await shop.reviews()).toHaveLength(1);
    },
  );

  it.each(MADE)('asks nobody about a %s that the list left out, and the provider has', async (kind, make) => {
    const { id, providerId } = await make();
    await shop.provider.age(providerId, 8);
    expect(await sweep()).toMatchObject({ asked: 1, questioned: 0 });
    expect(await shop.reviews()).toEqual([]);
    expect(await sweep()).toMatchObject({ asked: 0 });
    const [row] = await shop.db.sql(`SELECT confirmed_at FROM ${kind}s WHERE id = $1`, [id]);
    expect(row).toEqual({ confirmed_at: expect.any(Date) as Date });
  });

  it('asks a person about a charge that did not succeed there', async () => {
    const { id, providerId } = await charged({ paymentMethod: 'pm_card_authenticationRequired' });
    await shop.db.sql("UPDATE charges SET status = 'succeeded' WHERE id = $1", [id]);
    expect(await sweep()).toMatchObject({ asked: 1, questioned: 1 });
    expect(await shop.reviews()).toMatchObject([
      {
        subject_id: id,
        reason: 'provider_contradicts',
        evidence: { differs: `${providerId} is requires_action` },
      },
    ]);
  });

  it('asks a person about a charge of another amount there', async () => {
    const { id, providerId } = await charged();
    await shop.db.sql('UPDATE charges SET amount = 1699 WHERE id = $1', [id]);
    expect(await sweep()).toMatchObject({ asked: 1, questioned: 1 });
    expect(await shop.reviews()).toMatchObject([
      {
        subject_id: id,
        reason: 'provider_contradicts',
        evidence: { differs: `${providerId} differs in amount, amount_received` },
      },
    ]);
    await shop.db.sql('UPDATE charges SET amount = 1700 WHERE id = $1', [id]);
  });

  it('asks a person about a refund that is not made yet there', async () => {
    const { body } = await shop.checkout(randomUUID(), { paymentMethod: 'pm_card_pendingRefund' });
    const refund = await post(`${shop.api.url}/v1/charges/${body.charge.id}/refunds`, {});
    await sweep();
    await shop.db.sql("UPDATE refunds SET status = 'succeeded' WHERE id = $1", [refund.body.id]);
    expect(await sweep()).toMatchObject({ asked: 1, questioned: 1 });
    expect(await shop.reviews()).toMatchObject([
      { subject_kind: 'refund', subject_id: refund.body.id, reason: 'provider_contradicts' },
    ]);
  });

  it('hears of a refund that came back, however old it is', async () => {
    const made = await refunded({ paymentMethod: 'pm_card_refundFail' });
    await settle(made);
    await shop.provider.age(made.providerId, 60);
    expect(await sweep()).toMatchObject({ asked: 1, questioned: 0 });
    await shop.consume();
    expect(await shop.db.sql('SELECT status FROM refunds WHERE id = $1', [made.id])).toEqual([
      { status: 'failed' },
    ]);
    expect(await sweep()).toMatchObject({ asked: 0 });
  });

  it('finds it once, by however many processes it is made', async () => {
    const [one, other] = [await charged(), await refunded()];
    for (const { providerId } of [one, other]) await shop.provider.forget(providerId);
    const rounds = await Promise.all([seek(), seek(), seek()]);
    expect(rounds.reduce((sum, { questioned }) => sum + questioned, 0)).toBe(2);
    expect(await shop.reviews()).toHaveLength(2);
  });
});
