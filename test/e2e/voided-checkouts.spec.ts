import { randomUUID } from 'node:crypto';
import { Reconciler } from '../../src/charges/reconciler.js';
import { Completer } from '../../src/idempotency/completer.js';
import { checkoutBody, get, post, type Answer } from '../support/checkout.js';
import { openEventShop, type EventShop } from '../support/event-shop.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { expectLedgersAgree, refundsAtProvider } from '../support/refunds.js';
import { call } from '../support/stripe-wire.js';
import { authenticate, eventAbout, eventOf, intentOf } from '../support/webhooks.js';

let shop: EventShop;
beforeAll(async () => {
  shop = await openEventShop({ ABANDONED_CHECKOUTS: 'void', FAULTS: 'on', COMMIT_EVERY_PHASE: 'on' }, [
    RecoveryParts,
  ]);
});
afterAll(() => shop.close());
beforeEach(() => shop.clean());

interface Abandoned {
  readonly key: string;
  readonly chargeId: string;
  comeBack(): Promise<Answer>;
}

/** A checkout that ended early, and whose client does not come back for it. */
async function abandoned(changes: object = {}, headers: Record<string, string> = {}): Promise<Abandoned> {
  const key = randomUUID();
  const body = checkoutBody({ ...changes });
  const { status } = await post(`${shop.api.url}/v1/checkouts`, body, { key, headers });
  expect(status).toBeGreaterThanOrEqual(500);
  await shop.provider.clearFaults();
  const { charge } = (await get(`${shop.api.url}/v1/idempotency-keys?key=${key}`)).body;
  return { key, chargeId: charge.id, comeBack: () => post(`${shop.api.url}/v1/checkouts`, body, { key }) };
}

const completer = () => shop.api.app.get(Completer, { strict: false });
const keyRow = async (key: string) =>
  (await shop.db.sql('SELECT * FROM idempotency_keys WHERE key = $1', [key]))[0]!;

/** The grace, or the backoff, is over. */
async function graceIsOver() {
  await shop.db.sql("UPDATE idempotency_keys SET next_run_at = now() - interval '1 s'");
  return completer().runOnce();
}

const stateOf = async ({ chargeId }: Abandoned) => {
  const [row] = await shop.db.sql(
    `SELECT orders.status AS "order", charges.status AS charge, charges.amount_refunded::int AS refunded
       FROM charges JOIN orders ON orders.tenant_id = charges.tenant_id AND orders.id = order_id WHERE charges.id = $1`,
    [chargeId],
  );
  return row;
};
const chargesAtProvider = async ({ chargeId }: Abandoned) =>
  (await shop.provider.ledger()).charges.filter(({ metadata }) => metadata['charge_id'] === chargeId);
const VOIDED = { status: 409, body: { code: 'checkout_voided' } };

describe('A checkout whose client has gone, where such are voided', () => {
  it('is never charged where the provider has surely done nothing yet', async () => {
    await shop.provider.fault('rate_limit', { times: 9 });
    const checkout = await abandoned();
    await graceIsOver();
    expect(await stateOf(checkout)).toEqual({ order: 'canceled', charge: 'canceled', refunded: 0 });
    expect(await chargesAtProvider(checkout)).toEqual([]);
    const late = await checkout.comeBack();
    expect(late).toMatchObject(VOIDED);
    expect(late.body.detail).toContain('Nothing was charged.');
    expect(late.headers.get('idempotent-replayed')).toBe('true');
    expect(late.headers.get('should-retry')).toBe('false');
  });

  it.each(['drop_after', 'drop_before'])(
    'is settled by its own derived key, and what was taken goes back under another one (%s)',
    async (fault) => {
      const checkout = await abandonedInDoubt({}, fault);
      await graceIsOver();
      await graceIsOver(); // the refund is an operation of its own
      expect(await stateOf(checkout)).toEqual({ order: 'canceled', charge: 'canceled', refunded: 1700 });
      const [charge, ...others] = await chargesAtProvider(checkout);
      const [refund, ...more] = await refundsAtProvider(shop.db, shop.provider, checkout.chargeId);
      expect([others, more]).toEqual([[], []]);
      expect(charge!.idempotencyKey).not.toBe(refund!.idempotencyKey);
      expect(refund).toMatchObject({ amount: 1700, status: 'succeeded' });
      await expectLedgersAgree(shop.db, shop.provider);
      const late = await checkout.comeBack();
      expect(late).toMatchObject(VOIDED);
      expect(late.body.detail).toContain('What was charged is refunded.');
      expect(await shop.reviews()).toEqual([]); // nothing is left to decide
    },
  );

  it('is asked about where its call was made and nobody wrote down what it said', async () => {
    const checkout = await abandoned({}, { 'Sandbox-Fault': 'call.after:charge=throw' });
    await graceIsOver();
    await graceIsOver();
    expect(await stateOf(checkout)).toEqual({ order: 'canceled', charge: 'canceled', refunded: 1700 });
    await expectLedgersAgree(shop.db, shop.provider);
  });

  it('stays in doubt where its call was made once and refused later', async () => {
    const checkout = await abandoned({}, { 'Sandbox-Fault': 'call.after:charge=throw' });
    await shop.provider.fault('rate_limit', { times: 2 });
    await shop.provider.fault('search_down', { times: 2 });
    expect((await checkout.comeBack()).status).toBe(503);
    await shop.provider.clearFaults();
    await graceIsOver();
    await graceIsOver();
    expect(await stateOf(checkout)).toEqual({ order: 'canceled', charge: 'canceled', refunded: 1700 });
  });

  it('whose refund fails later is left to a person: nobody else would miss it', async () => {
    const checkout = await abandonedInDoubt({ paymentMethod: 'pm_card_refundFail' });
    await graceIsOver();
    await graceIsOver();
    const [refund] = await refundsAtProvider(shop.db, shop.provider, checkout.chargeId);
    const settled = await fetch(`${shop.provider.url}/_settle/${refund!.id}`, { method: 'POST' });
    expect(settled.ok).toBe(true);
    const { body } = await call(`${shop.provider.url}/v1/refunds/${refund!.id}`);
    await shop.told(eventOf('refund.failed', body));
    await shop.consume();
    expect(await stateOf(checkout)).toMatchObject({ refunded: 0 });
    expect(await shop.reviews()).toMatchObject([
      { subject_id: checkout.chargeId, reason: 'still_owed_back', evidence: { amount: 1700 } },
    ]);
    await expectLedgersAgree(shop.db, shop.provider);
  });

  it('is not charged where the card is declined', async () => {
    const checkout = await abandonedInDoubt({ paymentMethod: 'pm_card_chargeDeclined' }, 'drop_before');
    await graceIsOver();
    expect(await stateOf(checkout)).toEqual({ order: 'canceled', charge: 'declined', refunded: 0 });
    expect(await checkout.comeBack()).toMatchObject(VOIDED);
  });

  it('gives back what was recorded, too: only the receipt was missing', async () => {
    const fault = { 'Sandbox-Fault': 'phase.after_commit:charge_created=throw' };
    const checkout = await abandoned({}, fault);
    await graceIsOver();
    await graceIsOver();
    expect(await stateOf(checkout)).toEqual({ order: 'canceled', charge: 'canceled', refunded: 1700 });
    await expectLedgersAgree(shop.db, shop.provider);
  });

  it('keeps the past of its call at `voiding`, and hands the client who comes back the same end', async () => {
    const checkout = await abandonedInDoubt();
    await shop.db.sql("UPDATE idempotency_keys SET first_sent_at = now() - interval '25 h' WHERE key = $1", [
      checkout.key,
    ]);
    const before = await keyRow(checkout.key);
    await shop.provider.fault('search_down', { times: 1 });
    expect(await graceIsOver()).toMatchObject({ putOff: 1 });
    const { first_sent_at, request_derived_key } = before;
    expect(await keyRow(checkout.key)).toMatchObject({
      recovery_point: 'voiding',
      in_doubt: true,
      first_sent_at,
      request_derived_key,
    });
    expect(await checkout.comeBack()).toMatchObject(VOIDED);
    expect((await chargesAtProvider(checkout))[0]).toMatchObject({ calls: 2 }); // past the window: found, not sent again
  });

  it('ends as a person has decided, if one has', async () => {
    const checkout = await abandonedInDoubt();
    const { id } = await intentOf(shop.provider, checkout.chargeId);
    await shop.db.sql('UPDATE idempotency_keys SET known_outcome = $2 WHERE key = $1', [
      checkout.key,
      JSON.stringify({ status: 'succeeded', providerId: id }),
    ]);
    await graceIsOver();
    expect((await checkout.comeBack()).status).toBe(201);
  });
});

describe('A payment that waits for the customer when its checkout is voided', () => {
  const NEEDS_ACTION = { paymentMethod: 'pm_card_authenticationRequired' };
  const reconcile = async () => {
    await shop.db.sql("UPDATE charges SET next_poll_at = now() - interval '1 s'");
    return shop.api.app.get(Reconciler, { strict: false }).runOnce();
  };

  it('is ended at the provider', async () => {
    const checkout = await abandonedInDoubt(NEEDS_ACTION);
    await graceIsOver();
    expect(await stateOf(checkout)).toEqual({ order: 'canceled', charge: 'requires_action', refunded: 0 });
    expect(await reconcile()).toMatchObject({ settled: 1 });
    expect(await stateOf(checkout)).toEqual({ order: 'canceled', charge: 'canceled', refunded: 0 });
    expect(await intentOf(shop.provider, checkout.chargeId)).toMatchObject({ status: 'canceled' });
  });

  it.each(['event', 'reconciler'])('goes back where the customer was faster (%s)', async (teller) => {
    const checkout = await abandonedInDoubt(NEEDS_ACTION);
    await graceIsOver();
    await authenticate(shop.provider, (await intentOf(shop.provider, checkout.chargeId))['id'], 'succeed');
    if (teller === 'event') {
      await shop.told(eventAbout(await intentOf(shop.provider, checkout.chargeId)));
      await shop.consume();
    } else await reconcile();
    await graceIsOver();
    expect(await stateOf(checkout)).toEqual({ order: 'canceled', charge: 'canceled', refunded: 1700 });
    await expectLedgersAgree(shop.db, shop.provider);
    expect(await shop.reviews()).toMatchObject([
      { subject_id: checkout.chargeId, reason: 'charged_after_all' },
    ]);
  });
});

/** Nobody knows whether the provider acted. */
async function abandonedInDoubt(changes: object = {}, lost = 'drop_after'): Promise<Abandoned> {
  await shop.provider.fault(lost, { times: 2 });
  await shop.provider.fault('search_down', { times: 1 });
  return abandoned(changes);
}
