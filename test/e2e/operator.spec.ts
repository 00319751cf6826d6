import { randomUUID } from 'node:crypto';
import { checkoutBody, get, post } from '../support/checkout.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';
import {
  decideReview,
  heldCheckout,
  keyNow,
  listReviews,
  newestReview,
  operate,
  OPERATORS,
  reviewNow,
  windowPasses,
  type Decision,
  type Held,
} from '../support/operator.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { openShop, type Shop } from '../support/shop.js';
import { ACME, GLOBEX, startApi, type StartedApi } from '../support/start-api.js';

const OPERATOR_TOKENS = Object.values(OPERATORS).join(', ');

let shop: Shop;
let mailbox: Mailbox;
beforeAll(async () => {
  mailbox = await startMailbox();
  shop = await openShop({ ROLE: 'api', OPERATOR_TOKENS }, [RecoveryParts]);
});
afterAll(async () => {
  await shop.close();
  await mailbox.stop();
});
afterEach(() => shop.provider.clearFaults());

const reviews = (query = '') => listReviews(shop, query);
const decide = (id: string, body: Decision, token = OPERATORS.ada) => decideReview(shop, id, body, token);
const reviewOf = (held: Held) => reviewNow(shop, held);
const keyOf = (held: Held) => keyNow(shop, held);

/** A payment that somebody made beside the service. */
async function atProvider(parameters: Record<string, string>, key: string = randomUUID()) {
  const answer = await fetch(`${shop.provider.url}/v1/payment_intents`, {
    method: 'POST',
    headers: { Authorization: 'Bearer sk_test_key', 'Idempotency-Key': key },
    body: new URLSearchParams(parameters),
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { id: string };
}

describe('The operator', () => {
  const routes = [
    ['get', 'reviews'],
    ['put', 'reviews/rev_01kbn9sg6de5pv2m8w4f3tqz7x/decision'],
    ['get', 'dead-letters'],
    ['post', 'dead-letters/msg_01kbn9sg6de5pv2m8w4f3tqz7x/requeue'],
    ['delete', 'dead-letters/msg_01kbn9sg6de5pv2m8w4f3tqz7x'],
  ] as const;

  it.each(routes)('alone may %s %s', async (method, path) => {
    const asked = (token: string | undefined) => operate(shop.api.url, method, path, { token });
    for (const token of [undefined, 'op_test_operator', `${OPERATORS.ada}x`, OPERATORS.ada.slice(0, -1)]) {
      const { status, headers } = await asked(token);
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    }
    for (const { key } of [ACME, GLOBEX]) {
      const { status, body } = await asked(key);
      expect([status, body.code]).toEqual([403, 'operators_only']);
    }
    expect((await asked(OPERATORS.grace)).status).not.toBe(401);
  });

  it("is no tenant: the token opens no tenant's route", async () => {
    for (const path of ['/v1/orders', '/v1/idempotency-keys?key=a'])
      expect((await get(shop.api.url + path, { apiKey: OPERATORS.ada })).status).toBe(401);
    const answer = await post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { apiKey: OPERATORS.ada });
    expect(answer.status).toBe(401);
  });

  it('is nobody where OPERATOR_TOKENS names none', async () => {
    const closed = await startApi({ databaseUrl: shop.db.url, ROLE: 'api' });
    for (const token of ['op_test_operator', OPERATORS.ada])
      expect((await operate(closed.url, 'get', 'reviews', { token })).status).toBe(401);
    await closed.stop();
  });

  it.each([
    ['get', 'reviews?status=closed', {}, 'status'],
    ['get', 'reviews?limit=101', {}, 'limit'],
    ['get', 'reviews?limit=0x10', {}, 'limit'],
    ['get', 'dead-letters?limit=1e1', {}, 'limit'],
    ['get', 'reviews?cursor=%00', {}, 'cursor'],
    ['put', 'reviews/rev_01kbn9sg6de5pv2m8w4f3tqz7x/decision', { decision: 'refund' }, 'decision'],
    ['put', 'reviews/rev_01kbn9sg6de5pv2m8w4f3tqz7x/decision', { decision: 'mark_succeeded' }, 'providerId'],
  ] as const)('is told what is wrong with %s %s', async (method, path, body, param) => {
    const options = { token: OPERATORS.ada, ...(method === 'put' && { body }) };
    const answer = await operate(shop.api.url, method, path, options);
    expect([answer.status, answer.body.error.param]).toEqual([400, param]);
  });

  it.each(['rev_01kbn9sg6de5pv2m8w4f3tqz7x', '%00', 'rev_'])('finds no review %s', async (id) => {
    expect((await decide(id, { decision: 'retry' })).body.code).toBe('review_not_found');
  });
});

describe('A review', () => {
  it('opens once nobody can tell any more, and holds the key until a person has decided [E-1, Q-4, P-9]', async () => {
    const held = await heldCheckout(shop);
    expect(held.review.reason).toBe('tries_used_up');
    const again = await held.retry();
    expect([again.status, again.body.code]).toEqual([409, 'idempotency_key_under_review']);
    expect(Number(again.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await keyOf(held)).toMatchObject({ status: 'review', charge: { status: 'review' } });
    const { charges } = await shop.provider.ledger();
    expect(charges.filter(({ id }) => id === held.made!.id)).toMatchObject([{ calls: 2 }]);
  });

  it('opens where past the window of the provider nothing is found [E-1, Q-4, P-9]', async () => {
    const key = randomUUID();
    const checkout = () => post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key });
    await shop.provider.fault('drop_before', { times: 2 });
    await checkout();
    await windowPasses(shop.db, key);
    expect((await checkout()).body.code).toBe('idempotency_key_under_review');
    expect((await newestReview(shop.api.url)).reason).toBe('provider_window_over');
  });

  it('shows what is known of the key and its charge, and nothing of the customer [Q-4]', async () => {
    const held = await heldCheckout(shop);
    const { review, key } = held;
    expect(review).toMatchObject({
      id: expect.stringMatching(/^rev_[0-9a-z]{26}$/),
      tenantId: 'acme',
      subject: { kind: 'idempotency_key', id: expect.stringMatching(/^idem_/) },
      reason: 'tries_used_up',
      evidence: {
        derivedKey: `test:${review.subject.id}:charge`,
        attempts: 2,
        lastError: expect.stringContaining('look-up failed'),
      },
      decision: null,
      decidedBy: null,
      decidedAt: null,
      key: {
        status: 'review',
        recoveryPoint: 'order_created',
        attempts: 2,
        lastError: 'tries_used_up',
      },
      charge: { id: expect.stringMatching(/^ch_/), status: 'review', amount: 1700 },
    });
    const times = review.evidence.timeline.map(({ at }: { at: string }) => at);
    expect(times).toEqual([...times].sort());
    expect(review.evidence.timeline.map(({ what }: { what: string }) => what)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^key claimed by request req_/),
        `charge ${review.charge.id} intended`,
        'review opened: tries_used_up',
      ]),
    );
    expect(JSON.stringify(review)).not.toMatch(new RegExp(`${key}|example\\.com|pm_card`));
  });

  it('is listed newest first, page by page, open and decided apart, of every tenant', async () => {
    const [first, second] = [await heldCheckout(shop), await heldCheckout(shop)];
    await decide(second.review.id, { decision: 'retry' });
    const ids = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id);
    const all = ids(await reviews('?limit=100'));
    expect(all.indexOf(second.review.id)).toBeLessThan(all.indexOf(first.review.id));
    expect(ids(await reviews('?status=open&limit=100'))).not.toContain(second.review.id);
    expect(ids(await reviews('?status=decided&limit=100'))).toContain(second.review.id);
    const paged: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await reviews(`?limit=2${cursor && `&cursor=${cursor}`}`);
      paged.push(...ids(page));
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(all);
  });
});

describe('mark_succeeded', () => {
  let worker: StartedApi;
  beforeAll(async () => {
    worker = await startApi({
      databaseUrl: shop.db.url,
      providerUrl: shop.provider.url,
      smtpUrl: mailbox.smtpUrl,
      ROLE: 'worker',
    });
  });
  afterAll(() => worker.stop());

  it('lets the retry get the normal 201 and the customer the receipt, with one charge [Q-4]', async () => {
    const held = await heldCheckout(shop);
    const decided = await decide(held.review.id, {
      decision: 'mark_succeeded',
      providerId: held.made!.id,
      note: 'seen in the dashboard',
    });
    expect(decided.status).toBe(200);
    const answer = await held.retry();
    expect(answer.status).toBe(201);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(answer.body).toMatchObject({
      order: { status: 'paid' },
      charge: { id: held.review.charge.id, status: 'succeeded', amount: 1700 },
    });
    expect((await held.retry()).text).toBe(answer.text);
    expect(await shop.chargesOf(answer.body.order.id)).toMatchObject([{ calls: 2, status: 'succeeded' }]);
    const ledger = await shop.db.sql('SELECT amount FROM ledger_entries WHERE subject = $1', [
      answer.body.order.id,
    ]);
    expect(ledger).toHaveLength(1);
    expect(await receiptsOf(answer.body.order.id)).toHaveLength(1);
  });

  async function receiptsOf(orderId: string) {
    for (let count = 1; ; count++) {
      const mails = await mailbox.received(count);
      const found = mails.filter(({ messageId }) => messageId.includes(orderId));
      if (found.length > 0) return found;
    }
  }

  it('is kept with who decided it, when and why, and never with the token [Q-4]', async () => {
    const held = await heldCheckout(shop);
    await decide(held.review.id, { decision: 'mark_succeeded', providerId: held.made!.id, note: 'seen' });
    const review = await reviewOf(held);
    expect(review).toMatchObject({
      decision: 'mark_succeeded',
      providerId: held.made!.id,
      note: 'seen',
      decidedBy: expect.stringMatching(/^operator [0-9a-f]{8}$/),
      key: { status: 'finished' },
      charge: { status: 'succeeded' },
      evidence: { providerId: held.made!.id },
    });
    expect(Date.now() - Date.parse(review.decidedAt)).toBeLessThan(60_000);
    const stored = await shop.db.sql('SELECT row_to_json(reviews)::text AS row FROM reviews');
    expect(JSON.stringify(stored)).not.toContain(OPERATORS.ada);
  });

  it('is refused where the provider does not confirm that payment, and the review stays open [Q-4]', async () => {
    const held = await heldCheckout(shop);
    const other = await heldCheckout(shop);
    const globex = await post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { apiKey: GLOBEX.key });
    const [foreign] = await shop.chargesOf(globex.body.order.id);
    const ours = Object.entries(held.made!.metadata).map(([name, id]) => [`metadata[${name}]`, id]);
    const payment = { currency: 'eur', payment_method: 'pm_card_visa', confirm: 'true' };
    const cheap = await atProvider({ ...payment, amount: '99', ...Object.fromEntries(ours) });
    const usd = await atProvider({
      ...payment,
      amount: '1700',
      currency: 'usd',
      ...Object.fromEntries(ours),
    });
    const wrong = ['pi_unknown', 're_1', other.made!.id, foreign!.id, cheap.id, usd.id];
    for (const providerId of wrong) {
      const { status, body } = await decide(held.review.id, { decision: 'mark_succeeded', providerId });
      expect([status, body.code, body.error.param]).toEqual([409, 'payment_not_confirmed', 'providerId']);
    }
    expect(await reviewOf(held)).toMatchObject({ decision: null, key: { status: 'review' } });
    expect((await held.retry()).body.code).toBe('idempotency_key_under_review');
  });

  it('is refused for a payment that was declined', async () => {
    const held = await heldCheckout(shop, 'drop_after', { paymentMethod: 'pm_card_visa_chargeDeclined' });
    const { status, body } = await decide(held.review.id, {
      decision: 'mark_succeeded',
      providerId: held.made!.id,
    });
    expect([status, body.code]).toEqual([409, 'payment_not_confirmed']);
    expect(body.detail).toContain('declined');
  });

  it('waits for a provider that cannot be asked: 503, and nothing is decided', async () => {
    const held = await heldCheckout(shop);
    await shop.provider.fault('down', { times: 9 });
    const decision = { decision: 'mark_succeeded', providerId: held.made!.id };
    const refused = await decide(held.review.id, decision);
    expect([refused.status, refused.body.code]).toEqual([503, 'provider_unavailable']);
    await shop.provider.clearFaults();
    expect(await reviewOf(held)).toMatchObject({ decision: null });
    expect((await decide(held.review.id, decision)).status).toBe(200);
  });
});

describe('mark_failed', () => {
  it('ends the key with a stored 402, and the order can be paid under a new key [Q-4]', async () => {
    const held = await heldCheckout(shop, 'drop_before');
    expect((await decide(held.review.id, { decision: 'mark_failed' })).status).toBe(200);
    const answer = await held.retry();
    expect([answer.status, answer.body.code]).toEqual([402, 'payment_failed']);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(answer.headers.get('should-retry')).toBe('false');
    expect((await held.retry()).text).toBe(answer.text);
    expect(await keyOf(held)).toMatchObject({ status: 'finished', charge: { status: 'rejected' } });

    const { orderId } = answer.body;
    const paid = await post(`${shop.api.url}/v1/charges`, { orderId, paymentMethod: 'pm_card_visa' });
    expect(paid.status).toBe(201);
    expect(await shop.chargesOf(orderId)).toHaveLength(1);
  });
});

describe('retry', () => {
  it('past the window of the provider only looks again, and adopts what it finds [P-9]', async () => {
    const held = await heldCheckout(shop);
    expect((await decide(held.review.id, { decision: 'retry' })).status).toBe(200);
    const answer = await held.retry();
    expect([answer.status, answer.body.order.status]).toEqual([201, 'paid']);
    expect(await shop.chargesOf(answer.body.order.id)).toMatchObject([{ calls: 2 }]);
  });

  it('past the window opens another review where nothing is found, and sends nothing [P-9, Q-4]', async () => {
    const held = await heldCheckout(shop, 'drop_before');
    expect((await decide(held.review.id, { decision: 'retry' })).status).toBe(200);
    expect((await held.retry()).body.code).toBe('idempotency_key_under_review');
    const { charges } = await shop.provider.ledger();
    expect(charges.filter(({ metadata }) => metadata['charge_id'] === held.review.charge.id)).toEqual([]);
    const next = await newestReview(shop.api.url);
    expect(next).toMatchObject({ subject: held.review.subject, charge: { status: 'review' } });
    expect(next.id).not.toBe(held.review.id);
    expect((await decide(next.id, { decision: 'mark_failed' })).status).toBe(200);
    expect((await held.retry()).body.code).toBe('payment_failed');
  });

  it('inside the window sends the frozen request again under the same derived key [P-9]', async () => {
    const held = await heldCheckout(shop, 'drop_before');
    await shop.db.sql('UPDATE idempotency_keys SET first_sent_at = now() WHERE key = $1', [held.key]);
    expect((await decide(held.review.id, { decision: 'retry' })).status).toBe(200);
    const answer = await held.retry();
    expect(answer.status).toBe(201);
    expect(await shop.chargesOf(answer.body.order.id)).toMatchObject([
      { idempotencyKey: held.review.evidence.derivedKey, calls: 3 },
    ]);
  });
});

describe('A derived key that the provider knows with another request', () => {
  it('goes to a person, and nothing is sent under a fresh key [P-6]', async () => {
    const key = randomUUID();
    const checkout = () => post(`${shop.api.url}/v1/checkouts`, checkoutBody(), { key });
    await shop.provider.fault('drop_before', { times: 2 });
    await shop.provider.fault('search_down', { times: 1 });
    expect((await checkout()).status).toBe(503);
    const [row] = await shop.db.sql<{ derived: string }>(
      'SELECT request_derived_key AS derived FROM idempotency_keys WHERE key = $1',
      [key],
    );
    await atProvider({ amount: '99', currency: 'eur' }, row!.derived);
    const before = (await shop.provider.ledger()).charges.length;
    expect((await checkout()).body.code).toBe('idempotency_key_under_review');
    expect((await shop.provider.ledger()).charges).toHaveLength(before);
    const review = await newestReview(shop.api.url);
    expect(review).toMatchObject({ reason: 'provider_contradicts', evidence: { derivedKey: row!.derived } });
    expect(review.evidence.lastError).toContain('idempotency_error');
  });
});
