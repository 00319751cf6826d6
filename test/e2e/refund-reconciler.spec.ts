import { RefundReconciler } from '../../src/refunds/refund-reconciler.js';
import type { PollCounts } from '../../src/payments/polling.js';
import { get } from '../support/checkout.js';
import { openEventShop, type EventShop } from '../support/event-shop.js';
import { expectLedgersAgree, pay, refund, refundsAtProvider } from '../support/refunds.js';
import { startApi } from '../support/start-api.js';

let shop: EventShop;
beforeAll(async () => void (shop = await openEventShop())); // nobody has told the provider where to send events
afterAll(() => shop.close());
afterEach(async () => {
  await shop.clean();
  await shop.db.sql("UPDATE refunds SET next_poll_at = 'infinity'"); // what a test leaves open is not the next one's
});

interface Refund {
  readonly id: string;
  readonly chargeId: string;
}

/** A refund that the bank takes its time for. */
async function pending(): Promise<Refund> {
  const { charge } = await pay(shop.api.url, { paymentMethod: 'pm_card_pendingRefund' });
  const { body } = await refund(shop.api.url, charge.id, { amount: 500 });
  expect(body).toMatchObject({ status: 'pending', chargeId: charge.id });
  return body as Refund;
}

/** The days pass at the provider. */
async function arrives({ chargeId }: Refund): Promise<void> {
  const [made] = await refundsAtProvider(shop.db, shop.provider, chargeId);
  const answer = await fetch(`${shop.provider.url}/_settle/${made!.id}`, { method: 'POST' });
  expect(answer.status).toBe(200);
}

const due = ({ id }: Refund) =>
  shop.db.sql("UPDATE refunds SET next_poll_at = now() - interval '1 s' WHERE id = $1", [id]);
const runOnce = () => shop.api.app.get(RefundReconciler, { strict: false }).runOnce();

/** One round, once the refund is due. */
async function reconcile(about: Refund): Promise<PollCounts> {
  await due(about);
  return runOnce();
}

const statusOf = async ({ id }: Refund) => (await get(`${shop.api.url}/v1/refunds/${id}`)).body.status;

async function expectRefundedOnce({ id }: Refund): Promise<void> {
  const [counts] = await shop.db.sql(
    `SELECT (SELECT status FROM refunds WHERE id = $1) AS refund,
            (SELECT count(*)::int FROM ledger_entries WHERE subject = $1) AS ledger,
            (SELECT count(*)::int FROM outbox_messages WHERE dedupe_key = 'refund-receipt:' || $1) AS receipts`,
    [id],
  );
  expect(counts).toEqual({ refund: 'succeeded', ledger: 1, receipts: 1 });
  await expectLedgersAgree(shop.db, shop.provider);
}

describe('A pending refund whose event is lost', () => {
  it('is finished by asking: ledger row, receipt; and is not asked about again', async () => {
    const about = await pending();
    await arrives(about);
    expect(await reconcile(about)).toMatchObject({ claimed: 1, settled: 1 });
    await expectRefundedOnce(about);
    expect(await reconcile(about)).toMatchObject({ claimed: 0 });
  });

  it('is finished as well where it is far older than what the sweep looks at', async () => {
    const about = await pending();
    await shop.db.sql("UPDATE refunds SET created_at = now() - interval '60 d', polls = 1400 WHERE id = $1", [
      about.id,
    ]);
    await arrives(about);
    expect(await reconcile(about)).toMatchObject({ settled: 1 });
    await expectRefundedOnce(about);
  });

  it('is asked about half a minute later, and then less and less often', async () => {
    const about = await pending();
    const seconds = async () =>
      (
        await shop.db.sql<{ seconds: number }>(
          'SELECT round(extract(epoch FROM next_poll_at - now()))::int AS seconds FROM refunds WHERE id = $1',
          [about.id],
        )
      )[0]!.seconds;
    expect(await seconds()).toBeGreaterThan(0);
    expect(await runOnce()).toMatchObject({ claimed: 0 });
    for (const pause of [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]) {
      expect(await reconcile(about)).toMatchObject({ claimed: 1, waiting: 1 });
      expect(Math.abs((await seconds()) - pause)).toBeLessThanOrEqual(5);
    }
    expect(await statusOf(about)).toBe('pending');
  });

  it('is asked about again where the provider cannot be reached', async () => {
    const about = await pending();
    await arrives(about);
    await shop.provider.fault('down', { times: 1 });
    expect(await reconcile(about)).toMatchObject({ waiting: 1 });
    await shop.provider.clearFaults();
    expect(await reconcile(about)).toMatchObject({ settled: 1 });
    await expectRefundedOnce(about);
  });

  it('that the provider says otherwise of opens one review, and nothing is applied [W-13]', async () => {
    const [about, other] = [await pending(), await pending()];
    await arrives(about);
    const [theirs] = await refundsAtProvider(shop.db, shop.provider, other.chargeId);
    for (const [providerId, differs] of [
      [theirs!.id, 'refund_id'],
      ['re_that_never_was', 'unknown to the provider'],
    ] as const) {
      await shop.db.sql('DELETE FROM reviews');
      await shop.db.sql('UPDATE refunds SET provider_id = $2 WHERE id = $1', [about.id, providerId]);
      expect(await reconcile(about)).toMatchObject({ questioned: 1 });
      expect(await reconcile(about)).toMatchObject({ questioned: 1 });
      expect(await shop.reviews()).toEqual([
        {
          subject_kind: 'refund',
          subject_id: about.id,
          reason: 'provider_contradicts',
          evidence: { providerId, differs: expect.stringContaining(differs) as string },
        },
      ]);
      expect(await statusOf(about)).toBe('pending');
    }
    const [made] = await refundsAtProvider(shop.db, shop.provider, about.chargeId);
    await shop.db.sql('UPDATE refunds SET provider_id = $2 WHERE id = $1', [about.id, made!.id]);
    expect(await reconcile(about)).toMatchObject({ settled: 1 });
  });

  it("and one that the provider has no name for yet are two things: the second is its key's", async () => {
    const about = await pending();
    await arrives(about);
    await shop.db.sql('UPDATE refunds SET provider_id = NULL WHERE id = $1', [about.id]);
    expect(await reconcile(about)).toMatchObject({ claimed: 0 });
    const [made] = await refundsAtProvider(shop.db, shop.provider, about.chargeId);
    await shop.db.sql('UPDATE refunds SET provider_id = $2 WHERE id = $1', [about.id, made!.id]);
    expect(await reconcile(about)).toMatchObject({ settled: 1 });
  });

  it('is taken by one reconciler, however many there are', async () => {
    const about = await pending();
    await arrives(about);
    await due(about);
    const rounds = await Promise.all([runOnce(), runOnce(), runOnce()]);
    expect(rounds.reduce((sum, { claimed }) => sum + claimed, 0)).toBe(1);
    await expectRefundedOnce(about);
  });

  it('is asked about by a worker, with nobody telling it to', async () => {
    const about = await pending();
    await arrives(about);
    await due(about);
    const worker = await startApi({
      databaseUrl: shop.db.url,
      providerUrl: shop.provider.url,
      ROLE: 'worker',
    });
    while ((await statusOf(about)) !== 'succeeded');
    await worker.stop();
    await expectRefundedOnce(about);
  });
});
