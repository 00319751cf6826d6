import { randomUUID } from 'node:crypto';
import { Completer } from '../../src/idempotency/completer.js';
import { Reaper } from '../../src/background/reaper.js';
import { post } from '../support/checkout.js';
import { openEventShop, type EventShop } from '../support/event-shop.js';
import { decideReview, heldCheckout, OPERATORS, type Held } from '../support/operator.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { expectLedgersAgree, refund, refundsAtProvider } from '../support/refunds.js';
import { eventAbout, intentOf } from '../support/webhooks.js';

let shop: EventShop;
beforeAll(async () => {
  shop = await openEventShop({ OPERATOR_TOKENS: Object.values(OPERATORS).join(', ') }, [RecoveryParts]);
});
afterAll(() => shop.close());
beforeEach(() => shop.clean());

/** A person found that nothing was charged, and was wrong. @returns the charge */
async function wronglyFailed(): Promise<{ held: Held; chargeId: string; orderId: string }> {
  const held = await heldCheckout(shop);
  await decideReview(shop, held.review.id, { decision: 'mark_failed' });
  const { status, body } = await held.retry();
  expect([status, body.code]).toEqual([402, 'payment_failed']);
  return { held, chargeId: held.review.charge.id as string, orderId: body.orderId as string };
}

const comesOut = async (chargeId: string) => {
  expect(await shop.told(eventAbout(await intentOf(shop.provider, chargeId)))).toBe(204);
  expect(await shop.consume()).toMatchObject({ applied: 1 });
};
const complete = () => shop.api.app.get(Completer, { strict: false }).runOnce();
const refundsOf = (chargeId: string) => refundsAtProvider(shop.db, shop.provider, chargeId);

describe('Money that is reported after a person marked the payment failed', () => {
  it('is refunded, in full and once, and a person hears of it [Q-4]', async () => {
    const { chargeId } = await wronglyFailed();
    await comesOut(chargeId);
    expect(await shop.reviews()).toContainEqual(
      expect.objectContaining({ subject_id: chargeId, reason: 'charged_after_all' }),
    );
    expect(await complete()).toMatchObject({ finished: 1 });
    expect(await refundsOf(chargeId)).toMatchObject([{ amount: 1700, status: 'succeeded' }]);
    expect(await shop.chargeRow(chargeId)).toMatchObject({ status: 'rejected', amount_refunded: '1700' });
    await expectLedgersAgree(shop.db, shop.provider);
  });

  it('is no matter of its order, which may have been paid anew by then', async () => {
    const { chargeId, orderId } = await wronglyFailed();
    const again = await post(`${shop.api.url}/v1/charges`, { orderId, paymentMethod: 'pm_card_visa' });
    expect(again.status).toBe(201);
    await comesOut(chargeId);
    await complete();
    expect(await refundsOf(chargeId)).toHaveLength(1);
    const [order] = await shop.db.sql('SELECT status, amount_refunded FROM orders WHERE id = $1', [orderId]);
    expect(order).toEqual({ status: 'paid', amount_refunded: '0' });
    await expectLedgersAgree(shop.db, shop.provider);
  });

  it('goes back once, however often and by whomever it is told, also when keys and events are forgotten', async () => {
    const { chargeId } = await wronglyFailed();
    const intent = await intentOf(shop.provider, chargeId);
    for (let n = 0; n < 5; n++) await shop.told(eventAbout(intent));
    await Promise.all([shop.consume(), shop.consume()]);
    await shop.consume();
    await complete();
    await shop.db.sql(
      "UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE status = 'finished'",
    );
    await shop.db.sql('DELETE FROM inbox_messages');
    await shop.db.sql('DELETE FROM reviews');
    await shop.api.app.get(Reaper, { strict: false }).runOnce();
    const before = await shop.books();
    await comesOut(chargeId);
    expect(await complete()).toMatchObject({ claimed: 0 });
    expect(await shop.books()).toEqual(before);
    expect(await refundsOf(chargeId)).toHaveLength(1);
    expect(await shop.reviews()).toEqual([]);
  });

  it('can be given back by hand where the provider would not', async () => {
    const { chargeId } = await wronglyFailed();
    await shop.db.sql('UPDATE charges SET provider_id = NULL WHERE id = $1', [chargeId]);
    await comesOut(chargeId);
    await shop.db.sql("UPDATE charges SET provider_id = 'pi_of_nobody' WHERE id = $1", [chargeId]);
    await complete();
    expect(await shop.db.sql('SELECT status FROM refunds WHERE charge_id = $1', [chargeId])).toEqual([
      { status: 'failed' },
    ]);
    expect(await shop.chargeRow(chargeId)).toMatchObject({ amount_refunded: '0' });
    const intent = await intentOf(shop.provider, chargeId);
    await shop.db.sql('UPDATE charges SET provider_id = $2 WHERE id = $1', [chargeId, intent['id']]);
    const byHand = await refund(shop.api.url, chargeId, {}, { key: randomUUID() });
    expect([byHand.status, byHand.body.status]).toEqual([201, 'succeeded']);
    expect((await refund(shop.api.url, chargeId)).body.code).toBe('charge_already_refunded');
    await expectLedgersAgree(shop.db, shop.provider);
  });
});
