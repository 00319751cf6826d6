import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { Completer } from '../../src/idempotency/completer.js';
import { get } from '../support/checkout.js';
import { waitingForLock } from '../support/locks.js';
import {
  decideReview,
  heldCheckout,
  keyNow,
  listReviews,
  newestReview,
  operate,
  OPERATORS,
  reviewNow,
  useUp,
  type Decision,
  type Held,
} from '../support/operator.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { pay, refund, refundsAtProvider } from '../support/refunds.js';
import { openShop, type Shop } from '../support/shop.js';
import { spawnApi } from '../support/start-api.js';

const OPERATOR_TOKENS = Object.values(OPERATORS).join(', ');

let shop: Shop;
beforeAll(async () => {
  shop = await openShop({ ROLE: 'api', OPERATOR_TOKENS }, [RecoveryParts]);
});
afterAll(() => shop.close());
afterEach(() => shop.provider.clearFaults());

const reviews = (query = '') => listReviews(shop, query);
const decide = (id: string, body: Decision, token = OPERATORS.ada) => decideReview(shop, id, body, token);
const reviewOf = (held: Held) => reviewNow(shop, held);
const keyOf = (held: Held) => keyNow(shop, held);

describe('The first decision', () => {
  it('stands: the same again is answered the same, another is refused [Q-4]', async () => {
    const held = await heldCheckout(shop);
    const decision = { decision: 'mark_succeeded', providerId: held.made!.id };
    const first = await decide(held.review.id, decision);
    const again = await decide(held.review.id, { ...decision, note: 'once more' }, OPERATORS.grace);
    expect([again.status, again.text]).toEqual([200, first.text]);
    for (const other of [
      { decision: 'mark_failed' },
      { decision: 'retry' },
      { ...decision, providerId: 'pi_other' },
    ]) {
      const { status, body, headers } = await decide(held.review.id, other);
      expect([status, body.code, body.decision]).toEqual([409, 'review_already_decided', 'mark_succeeded']);
      expect(headers.get('should-retry')).toBe('false');
    }
  });

  it('wins among twenty at once, and it alone takes effect [Q-4]', async () => {
    const held = await heldCheckout(shop);
    const decisions = [
      { decision: 'mark_succeeded', providerId: held.made!.id },
      { decision: 'mark_failed' },
    ];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, each) => decide(held.review.id, decisions[each % 2]!)),
    );
    const { decision } = await reviewOf(held);
    answers.forEach(({ status, body }, each) => {
      const won = decisions[each % 2]!.decision === decision;
      expect([status, body.code]).toEqual(won ? [200, undefined] : [409, 'review_already_decided']);
    });
    expect((await held.retry()).status).toBe(decision === 'mark_succeeded' ? 201 : 402);
  });

  it.each([
    ['mark_succeeded', 201],
    ['mark_failed', 402],
  ] as const)(
    'is not lost where its process is killed before it is carried out: %s [Q-4]',
    async (decision, status) => {
      const held = await heldCheckout(shop);
      const doomed = await spawnApi({
        databaseUrl: shop.db.url,
        providerUrl: shop.provider.url,
        ROLE: 'api',
        OPERATOR_TOKENS,
      });
      const release = await blockRecords();
      const body = { decision, ...(decision === 'mark_succeeded' && { providerId: held.made!.id }) };
      const path = `reviews/${held.review.id}/decision`;
      const unanswered = operate(doomed.url, 'put', path, { body, token: OPERATORS.ada });
      unanswered.catch(() => undefined);
      await waitingForLock(shop.db);
      await doomed.kill('SIGKILL');
      await expect(unanswered).rejects.toThrow();
      await release();
      await shop.db.sql("UPDATE idempotency_keys SET locked_until = now() - interval '1 s' WHERE key = $1", [
        held.key,
      ]);
      await shop.provider.fault('down', { times: 9 }); // nobody can be asked: what was decided has to be kept
      expect((await held.retry()).status).toBe(status);
      expect(await reviewOf(held)).toMatchObject({ decision, key: { status: 'finished' } });
    },
  );

  it.each(['the same decision, sent again', 'the completer'])(
    'that could not be carried out at once is so by %s [Q-4]',
    async (by) => {
      const held = await heldCheckout(shop);
      const body = { decision: 'mark_succeeded', providerId: held.made!.id };
      const release = await failingRecords();
      const first = await decide(held.review.id, body);
      expect(first.status).toBe(200);
      expect(await keyOf(held)).toMatchObject({ status: 'in_progress', charge: { status: 'unknown' } });
      await release();
      if (by === 'the completer') await completed(held.key);
      else expect((await decide(held.review.id, body)).text).toBe(first.text);
      expect(await keyOf(held)).toMatchObject({ status: 'finished', replyStatus: 201 });
    },
  );

  async function completed(key: string): Promise<void> {
    await shop.db.sql("UPDATE idempotency_keys SET next_run_at = now() - interval '1 s' WHERE key = $1", [
      key,
    ]);
    await shop.api.app.get(Completer, { strict: false }).runOnce();
  }

  /** Whoever records an outcome fails, until released. */
  async function failingRecords(): Promise<() => Promise<unknown>> {
    await onRecord("RAISE 'refused'");
    return stopOnRecord;
  }

  /** Whoever records an outcome waits, until released. */
  async function blockRecords(): Promise<() => Promise<unknown>> {
    const blocker = new pg.Client(shop.db.url);
    await blocker.connect();
    await blocker.query('SELECT pg_advisory_lock(1)');
    await onRecord('PERFORM pg_advisory_xact_lock(1)');
    return async () => {
      await blocker.end();
      await stopOnRecord();
    };
  }

  const onRecord = (does: string) =>
    shop.db.sql(`
      CREATE FUNCTION on_record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN ${does}; RETURN NEW; END $$;
      CREATE TRIGGER on_record BEFORE UPDATE ON charges FOR EACH ROW
        WHEN (NEW.status IN ('succeeded', 'rejected')) EXECUTE FUNCTION on_record()`);
  const stopOnRecord = () => shop.db.sql('DROP TRIGGER on_record ON charges; DROP FUNCTION on_record()');
});

describe('A decision that cannot be', () => {
  it('is refused where the key waits for no answer, and retry lets it go on', async () => {
    const held = await heldCheckout(shop);
    await shop.db.sql("UPDATE idempotency_keys SET recovery_point = 'charge_created' WHERE key = $1", [
      held.key,
    ]);
    for (const decision of ['mark_failed', 'mark_succeeded']) {
      const { status, body } = await decide(held.review.id, { decision, providerId: held.made!.id });
      expect([status, body.code]).toEqual([409, 'decision_impossible']);
    }
    expect(await reviewOf(held)).toMatchObject({ decision: null });
  });

  it('has no effect but its record where the review is about no unfinished key', async () => {
    await shop.db.sql(
      `INSERT INTO reviews (tenant_id, id, subject_kind, subject_id, reason, evidence)
       VALUES ('acme', 'rev_01kbn9sg6de5pv2m8w4f3tqz7x', 'event', 'evt_1', 'amount_differs', '{}')`,
    );
    const decided = await decide('rev_01kbn9sg6de5pv2m8w4f3tqz7x', {
      decision: 'mark_failed',
      note: 'a test',
    });
    expect(decided.body).toMatchObject({ decision: 'mark_failed', note: 'a test' });
    const { data } = await reviews('?status=decided&limit=100');
    expect(data.find(({ id }: { id: string }) => id === decided.body.id)).toMatchObject({
      subject: { kind: 'event', id: 'evt_1' },
      key: null,
      charge: null,
    });
  });
});

describe('A refund under review', () => {
  /** A refund whose answer is lost for good. */
  async function heldRefund(lost: 'drop_after' | 'drop_before') {
    const { charge } = await pay(shop.api.url);
    const key = randomUUID();
    const again = () => refund(shop.api.url, charge.id, { amount: 700 }, { key });
    await shop.provider.fault(lost, { times: 2 });
    await shop.provider.fault('search_down', { times: 1 });
    await again();
    await useUp(shop, key);
    const review = await newestReview(shop.api.url);
    const [made] = await refundsAtProvider(shop.db, shop.provider, charge.id);
    return { charge, again, review, made };
  }
  const refundedOf = async ({ id }: { id: string }) =>
    (await get(`${shop.api.url}/v1/charges/${id}`)).body.amountRefunded;

  it('names the charge, and ends as made once the provider confirms the one that is named [Q-4]', async () => {
    const { charge, again, review, made } = await heldRefund('drop_after');
    expect((await again()).body.code).toBe('idempotency_key_under_review');
    expect(review.charge).toMatchObject({ id: charge.id, status: 'succeeded' });
    const named = (providerId: string) => decide(review.id, { decision: 'mark_succeeded', providerId });
    expect((await named('re_other')).body.code).toBe('payment_not_confirmed');
    expect((await named(made!.id)).status).toBe(200);
    const answer = await again();
    expect([answer.status, answer.body.status]).toEqual([201, 'succeeded']);
    expect(await refundedOf(charge)).toBe(700);
    const entries = await shop.db.sql('SELECT amount FROM ledger_entries WHERE subject = $1', [
      answer.body.id,
    ]);
    expect(entries).toHaveLength(1);
  });

  it('gives the amount back where a person says that nothing was refunded [Q-4]', async () => {
    const { charge, again, review } = await heldRefund('drop_before');
    expect(await refundedOf(charge)).toBe(700);
    expect((await decide(review.id, { decision: 'mark_failed' })).status).toBe(200);
    const answer = await again();
    expect([answer.status, answer.body.code]).toEqual([402, 'refund_failed']);
    expect(await refundedOf(charge)).toBe(0);
    expect((await refund(shop.api.url, charge.id)).status).toBe(201);
  });
});
