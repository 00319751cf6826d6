import { UnexpectedRowCount } from '../../src/database/not-committed.js';
import { Database } from '../../src/database/transaction.js';
import { Outbox } from '../../src/outbox/outbox.js';
import { PaymentProvider } from '../../src/payments/payment-provider.js';
import type { Refund, RefundStatus, SettledRefundOutcome } from '../../src/refunds/refund.js';
import { moveRefund } from '../../src/refunds/refund.store.js';
import { settleRefund } from '../../src/refunds/refund-settlement.js';
import { RefundsReader } from '../../src/refunds/refunds.reader.js';
import { get } from '../support/checkout.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';
import { expectLedgersAgree, pay, refund } from '../support/refunds.js';
import { openShop, type Shop } from '../support/shop.js';
import { ACME } from '../support/start-api.js';

let shop: Shop;
let url: string;
beforeAll(async () => {
  shop = await openShop();
  url = shop.api.url;
});
afterAll(() => shop.close());

const tell = (refundId: string, outcome: SettledRefundOutcome, at: Shop = shop) =>
  at.api.app
    .get(Database)
    .transaction((tx) => settleRefund(tx, at.api.app.get(Outbox), ACME.tenant, refundId, outcome));

const read = async (refundId: string, at: Shop = shop): Promise<Refund> =>
  (await at.api.app.get(RefundsReader, { strict: false }).find(ACME.tenant, refundId))!;

const ledgerOf = async (refundId: string) =>
  (
    await shop.db.sql<{ kind: string }>('SELECT kind FROM ledger_entries WHERE subject = $1 ORDER BY kind', [
      refundId,
    ])
  ).map(({ kind }) => kind);

const receiptsOf = (refundId: string) =>
  shop.db.sql('SELECT 1 FROM outbox_messages WHERE dedupe_key = $1', [`refund-receipt:${refundId}`]);

describe('What the provider says of a refund', () => {
  const STATUSES = ['pending', 'requires_action', 'succeeded', 'failed', 'canceled'] as const;
  const ALLOWED = [
    'pending to requires_action',
    'pending to succeeded',
    'pending to failed',
    'pending to canceled',
    'requires_action to pending',
    'requires_action to succeeded',
    'requires_action to failed',
    'requires_action to canceled',
    'succeeded to failed',
  ];
  const MOVES = STATUSES.flatMap((from) => STATUSES.map((to) => [from, to] as const));

  /** A refund of 5.00 that the provider has, in whatever state. */
  async function refundIn(status: RefundStatus): Promise<Refund> {
    const { charge } = await pay(url, { paymentMethod: 'pm_card_pendingRefund' });
    const { body } = await refund(url, charge.id, { amount: 500 });
    const { providerId } = await read(body.id as string);
    return (await tell(body.id as string, { status, providerId: providerId! })).refund;
  }

  it.each(MOVES)('moves it from %s to %s, or changes nothing [ST-6, ST-7]', async (from, to) => {
    const before = await refundIn(from);
    const { result } = await tell(before.id, { status: to, providerId: before.providerId! });
    const allowed = ALLOWED.includes(`${from} to ${to}`);
    expect(result).toBe(from === to ? 'unchanged' : allowed ? 'moved' : 'refused');

    const { status } = await read(before.id);
    expect(status).toBe(allowed ? to : from);
    const back = ['failed', 'canceled'].includes(status);
    const { body: charge } = await get(`${url}/v1/charges/${before.chargeId}`);
    expect(charge.amountRefunded).toBe(back ? 0 : 500);
    const { body: order } = await get(`${url}/v1/orders/${charge.orderId}`);
    expect(order.amountRefunded).toBe(back ? 0 : 500);
    const succeeded = [from, status].includes('succeeded');
    expect(await ledgerOf(before.id)).toEqual([
      ...(succeeded ? ['refund'] : []),
      ...(succeeded && back ? ['refund_reversal'] : []),
    ]);
    expect(await receiptsOf(before.id)).toHaveLength(succeeded ? 1 : 0);
  });

  it('counts once, however often and by however many it is said at the same time [ST-7]', async () => {
    const { id, chargeId, providerId } = await refundIn('pending');
    const told = (status: 'succeeded' | 'failed') =>
      Promise.all(Array.from({ length: 10 }, () => tell(id, { status, providerId: providerId! })));
    const results = async (status: 'succeeded' | 'failed') =>
      (await told(status)).map(({ result }) => result).sort();
    const once = ['moved', ...Array.from({ length: 9 }, () => 'unchanged')];
    expect(await results('succeeded')).toEqual(once);
    expect(await results('failed')).toEqual(once);
    expect(await results('succeeded')).toEqual(Array.from({ length: 10 }, () => 'refused'));
    expect(await ledgerOf(id)).toEqual(['refund', 'refund_reversal']);
    expect((await get(`${url}/v1/charges/${chargeId}`)).body.amountRefunded).toBe(0);
  });

  it('is refused by the database as well, unless the refund still is what was read [ST-7]', async () => {
    const failed = await refundIn('failed');
    const move = shop.db.database.transaction(async (tx) =>
      moveRefund(tx, ACME.tenant, 'pending', { ...failed, status: 'succeeded' }),
    );
    await expect(move).rejects.toThrow(UnexpectedRowCount);
    expect((await read(failed.id)).status).toBe('failed');
  });

  it('is not taken back by a refusal: a refund that it has made did not fail', async () => {
    const succeeded = await refundIn('succeeded');
    const failure = { code: 'resource_missing', message: 'No such payment' };
    expect(await tell(succeeded.id, { status: 'rejected', failure })).toEqual({
      refund: succeeded,
      result: 'unchanged',
    });
    expect(await ledgerOf(succeeded.id)).toEqual(['refund']);
  });

  it('is taken up again where it had counted as never made, as far as its amount is still there [MON-11]', async () => {
    const { charge } = await pay(url);
    const made = (await refund(url, charge.id, { amount: 700 })).body;
    const { providerId } = await read(made.id);
    for (const [table, id] of [
      ['charges', charge.id],
      ['orders', charge.orderId],
    ])
      await shop.db.sql(`UPDATE ${table} SET amount_refunded = 0 WHERE id = $1`, [id]);
    await shop.db.sql("UPDATE refunds SET status = 'failed', provider_id = NULL WHERE id = $1", [made.id]);
    await shop.db.sql('DELETE FROM ledger_entries WHERE subject = $1', [made.id]);
    const news = { status: 'succeeded', providerId: providerId! } as const;
    expect(await tell(made.id, news)).toMatchObject({ result: 'made_after_all' });
    expect(await tell(made.id, news)).toMatchObject({ result: 'unchanged' });
    expect((await get(`${url}/v1/charges/${charge.id}`)).body.amountRefunded).toBe(700);
    expect(await ledgerOf(made.id)).toEqual(['refund']);
  });

  it('is not taken up again where its amount has gone back otherwise', async () => {
    const { charge } = await pay(url);
    const made = (await refund(url, charge.id)).body;
    const { providerId } = await read(made.id);
    await shop.db.sql("UPDATE refunds SET status = 'failed', provider_id = NULL WHERE id = $1", [made.id]);
    expect(await tell(made.id, { status: 'succeeded', providerId: providerId! })).toMatchObject({
      result: 'refused',
    });
    await shop.db.sql("UPDATE refunds SET status = 'succeeded', provider_id = $2 WHERE id = $1", [
      made.id,
      providerId,
    ]);
  });

  it('is not believed where it speaks of another refund than before', async () => {
    const { id } = await refundIn('pending');
    await expect(tell(id, { status: 'succeeded', providerId: 're_another' })).rejects.toThrow('re_another');
    expect(await ledgerOf(id)).toEqual([]);
  });
});

describe('A refund that is not settled at once', () => {
  let mailbox: Mailbox;
  let bank: Shop;
  beforeAll(async () => {
    mailbox = await startMailbox();
    bank = await openShop({ smtpUrl: mailbox.smtpUrl });
  });
  afterEach(() => expectLedgersAgree(bank.db, bank.provider));
  afterAll(async () => {
    await bank.close();
    await mailbox.stop();
  });

  /** The days pass at the provider, and somebody asks it. */
  async function laterOf({ id, chargeId }: { id: string; chargeId: string }) {
    const { providerId } = await read(id, bank);
    const settled = await fetch(`${bank.provider.url}/_settle/${providerId}`, { method: 'POST' });
    expect(settled.status).toBe(200);
    const [charge] = await bank.db.sql<{ provider_id: string }>(
      'SELECT provider_id FROM charges WHERE id = $1',
      [chargeId],
    );
    const { amount, currency } = await read(id, bank);
    const outcome = await bank.api.app.get(PaymentProvider, { strict: false }).findRefund({
      tenantId: ACME.tenant,
      refundId: id,
      providerId: charge!.provider_id,
      amount,
      currency,
    });
    return tell(id, outcome as SettledRefundOutcome, bank);
  }

  const refundMails = async () =>
    (await mailbox.messages()).filter(({ messageId }) => messageId.includes('refund-receipt'));

  it('is pending, then succeeds, and only then goes into the ledger and out by mail [TC-5, ST-6, MON-11]', async () => {
    const { charge } = await pay(bank.api.url, { paymentMethod: 'pm_card_pendingRefund' });
    const pending = await refund(bank.api.url, charge.id);
    expect([pending.status, pending.body.status]).toEqual([201, 'pending']);
    await expectLedgersAgree(bank.db, bank.provider);
    expect((await laterOf(pending.body)).result).toBe('moved');
    const read = await get(`${bank.api.url}/v1/refunds/${pending.body.id}`);
    expect(read.body).toEqual({ ...pending.body, status: 'succeeded' });
    await mailbox.received(2); // its payment's, and its own
    expect(await refundMails()).toMatchObject([
      {
        messageId: expect.stringContaining(`refund-receipt.${pending.body.id}.acme@`) as string,
        subject: 'Your refund: 17.00 EUR',
      },
    ]);
  });

  it('succeeds, then fails: the amount can be refunded again, and the ledger row is reversed [TC-5, ST-6, MON-11]', async () => {
    const { charge } = await pay(bank.api.url, { paymentMethod: 'pm_card_refundFail' });
    const made = await refund(bank.api.url, charge.id, { amount: 700 });
    expect(made.body.status).toBe('succeeded');
    await expectLedgersAgree(bank.db, bank.provider);
    expect((await laterOf(made.body)).result).toBe('moved');
    expect((await get(`${bank.api.url}/v1/refunds/${made.body.id}`)).body.status).toBe('failed');
    expect((await get(`${bank.api.url}/v1/charges/${charge.id}`)).body.amountRefunded).toBe(0);
    const again = await refund(bank.api.url, charge.id);
    expect(again.body).toMatchObject({ status: 'succeeded', amount: 1700 });
  });
});
