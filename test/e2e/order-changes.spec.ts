import { randomUUID } from 'node:crypto';
import {
  checkoutBody,
  get,
  orderBody,
  post,
  send,
  type Answer,
  type PostOptions,
} from '../support/checkout.js';
import { waitingForLock } from '../support/locks.js';
import { openShop, type Shop } from '../support/shop.js';
import { GLOBEX } from '../support/start-api.js';

const LONDON = { line1: '12 Analytical Row', city: 'London', postalCode: 'N1 7AA', country: 'GB' };
const PARIS = { line1: '5 rue Pascal', city: 'Paris', postalCode: '75005', country: 'FR' };

describe('Changes that are idempotent by nature', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop.close());
  afterEach(() => shop.provider.clearFaults());

  const at = (path: string) => `${shop.api.url}/v1${path}`;
  const seen = (etag: string): PostOptions => ({ headers: { 'If-Match': etag } });
  const setAddress = (id: string, address: object, options?: PostOptions) =>
    send('put', at(`/orders/${id}/shipping-address`), address, options);
  const cancel = (id: string, options?: PostOptions, body: unknown = {}) =>
    send('post', at(`/orders/${id}/cancel`), body, options);
  const put = (ref: string, body: object = orderBody(), options?: PostOptions) =>
    send('put', at(`/orders/by-external-ref/${encodeURIComponent(ref)}`), body, options);
  const charge = (orderId: string, paymentMethod = 'pm_card_visa') =>
    post(at('/charges'), { orderId, paymentMethod });
  const read = (id: string) => get(at(`/orders/${id}`));
  const anOrder = async () => (await post(at('/orders'), orderBody())).body.id as string;
  const etag = ({ headers }: Answer) => headers.get('etag')!;

  /** An order whose customer has to act: a charge is at work. */
  async function orderInPayment(): Promise<string> {
    const id = await anOrder();
    expect((await charge(id, 'pm_card_threeDSecure2Required')).body.status).toBe('requires_action');
    return id;
  }

  async function expectUntouched(id: string, change: () => Promise<Answer>, status: number, code: string) {
    const before = await read(id);
    const answer = await change();
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    const after = await read(id);
    expect([etag(after), after.text]).toEqual([etag(before), before.text]);
    return answer;
  }

  describe('The shipping address', () => {
    it('is set by whoever has seen the present version, and the version moves on', async () => {
      const id = await anOrder();
      const before = await read(id);
      const answer = await setAddress(id, LONDON, seen(etag(before)));
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ ...before.body, shippingAddress: LONDON });
      expect(answer.headers.get('content-location')).toBe(`/v1/orders/${id}`);
      expect(etag(answer)).not.toBe(etag(before));
      const after = await read(id);
      expect([etag(after), after.body]).toEqual([etag(answer), answer.body]);
    });

    it('is not set by who does not say what they have seen: 428 [IF-2]', async () => {
      const id = await anOrder();
      await expectUntouched(id, () => setAddress(id, LONDON), 428, 'precondition_required');
    });

    it('is not set by who has seen another version: 412, and nothing happens [IF-1]', async () => {
      const id = await anOrder();
      for (const tags of ['"99"', 'W/"1"', '"99", W/"1"'])
        await expectUntouched(id, () => setAddress(id, LONDON, seen(tags)), 412, 'precondition_failed');
      expect((await setAddress(id, LONDON, seen('"99", "1"'))).status).toBe(200);
      expect((await setAddress(id, PARIS, seen('*'))).status).toBe(200);
    });

    it('set again is 200, although the version that the retry names is gone [IF-3]', async () => {
      const id = await anOrder();
      const first = await setAddress(id, LONDON, seen('"1"'));
      const again = await setAddress(id, { ...LONDON }, seen('"1"'));
      expect([again.status, again.text, etag(again)]).toEqual([200, first.text, etag(first)]);
    });

    it('a retry that comes late does not bring the old address back', async () => {
      const id = await anOrder();
      const old = () => setAddress(id, LONDON, seen('"1"')); // its answer is lost; it is sent again, after…
      const lost = await old();
      await setAddress(id, PARIS, seen(etag(lost)));
      await expectUntouched(id, old, 412, 'precondition_failed');
      expect((await read(id)).body.shippingAddress).toEqual(PARIS);
    });

    it('is refused where If-Match, the address or the order is not what it should be', async () => {
      const id = await anOrder();
      expect((await setAddress(id, LONDON, seen('1'))).body.code).toBe('if_match_invalid');
      const { status, body } = await setAddress(id, { ...LONDON, country: 'XX' }, seen('"1"'));
      expect([status, body.error.param]).toEqual([400, 'country']);
      for (const unknown of ['ord_00000000000000000000000000', 'nonsense', '%00'])
        expect((await setAddress(unknown, LONDON, seen('*'))).status).toBe(404);
      expect((await setAddress(id, LONDON, { ...seen('*'), apiKey: GLOBEX.key })).status).toBe(404);
    });

    it('stands once a payment is at work or made: 409, before anyone asks for the version', async () => {
      const inPayment = await orderInPayment();
      const answer = await expectUntouched(
        inPayment,
        () => setAddress(inPayment, LONDON, seen('"99"')),
        409,
        'order_payment_in_progress',
      );
      expect(answer.headers.get('retry-after')).toBe('2');

      const paid = await anOrder();
      await setAddress(paid, LONDON, seen('"1"'));
      await charge(paid);
      await expectUntouched(paid, () => setAddress(paid, PARIS, seen('*')), 409, 'order_already_paid');
      expect((await setAddress(paid, LONDON, seen('"1"'))).body.status).toBe('paid'); // as it is already
    });

    it('may be set again once a payment was declined', async () => {
      const id = await anOrder();
      expect((await charge(id, 'pm_card_visa_chargeDeclined')).status).toBe(402);
      expect((await setAddress(id, LONDON, seen('"1"'))).status).toBe(200);
    });

    it.each(['pending', 'unknown', 'requires_action', 'processing', 'succeeded', 'review'])(
      'and everything else of an order stands while a charge of it is %s',
      async (status) => {
        const ref = randomUUID();
        const { id } = (await put(ref)).body;
        await shop.db.sql(
          `INSERT INTO charges (tenant_id, id, order_id, status, amount, currency, derived_key, provider_id)
           VALUES ('acme', $1, $2, $3, 1700, 'eur', $1, 'pi_1')`,
          [`ch_${randomUUID()}`, id, status],
        );
        const changes = [
          () => setAddress(id, LONDON, seen('*')),
          () => put(ref, orderBody({ currency: 'usd' })),
          () => cancel(id),
        ];
        for (const change of changes) await expectUntouched(id, change, 409, 'order_payment_in_progress');
      },
    );
  });

  describe('An order under its externalRef', () => {
    it('is made by the first PUT: 201; the same again is 200 and the same order', async () => {
      const ref = `basket ${randomUUID()} é/?#%`;
      const first = await put(ref);
      expect([first.status, first.body.externalRef]).toEqual([201, ref]);
      expect(first.headers.get('location')).toBe(`/v1/orders/${first.body.id}`);
      const again = await put(ref, orderBody({ externalRef: ref, clientSentAt: new Date().toISOString() }));
      expect([again.status, again.text, etag(again)]).toEqual([200, first.text, etag(first)]);
      expect(again.headers.has('location')).toBe(false);
      expect((await read(first.body.id)).text).toBe(first.text);
    });

    it('is what the last PUT says, members that are left out included', async () => {
      const ref = randomUUID();
      const first = await put(ref, orderBody({ shippingAddress: LONDON, metadata: { a: '1' } }));
      const items = [
        { sku: 'mug', quantity: 1, unitAmount: 1250 },
        { sku: 'tea', quantity: 3, unitAmount: 100 },
      ];
      const { status, body, headers } = await put(ref, orderBody({ items, currency: 'usd' }));
      expect(status).toBe(200);
      expect(body).toMatchObject({
        id: first.body.id,
        createdAt: first.body.createdAt,
        amount: 1550,
        currency: 'usd',
        shippingAddress: null,
        metadata: {},
        items: [
          { sku: 'mug', description: null },
          { sku: 'tea', quantity: 3 },
        ],
      });
      const after = await read(body.id);
      expect([after.body, etag(after)]).toEqual([body, headers.get('etag')]);
    });

    it('pays what the last PUT said, and its receipt lists that', async () => {
      const ref = randomUUID();
      await put(ref);
      const { id } = (await put(ref, orderBody({ items: [{ sku: 'mug', quantity: 1, unitAmount: 1250 }] })))
        .body;
      expect((await charge(id)).body.amount).toBe(1250);
      expect(await shop.chargesOf(id)).toMatchObject([{ amount: 1250 }]);
      expect(await receiptOf(id)).toMatchObject({ amount: 1250, items: [{ sku: 'mug' }] });
    });

    it('keeps the order of things with If-Match: a late retry does not undo a newer PUT', async () => {
      const ref = randomUUID();
      const { body, headers } = await put(ref);
      const older = () => put(ref, orderBody({ metadata: { note: 'older' } }), seen(headers.get('etag')!));
      const lost = await older();
      const newer = await put(ref, orderBody({ metadata: { note: 'newer' } }), seen(etag(lost)));
      expect(newer.status).toBe(200);
      await expectUntouched(body.id, older, 412, 'precondition_failed');
    });

    it('is not made by who has seen one: 412', async () => {
      const ref = randomUUID();
      for (const tags of ['"1"', '*']) expect((await put(ref, orderBody(), seen(tags))).status).toBe(412);
      expect((await put(ref)).status).toBe(201);
    });

    it('is past editing once it is paid, in payment or canceled: 409, unless nothing would change', async () => {
      const ref = randomUUID();
      const body = orderBody({ externalRef: ref });
      const { id } = (await post(at('/checkouts'), { ...body, paymentMethod: 'pm_card_visa' })).body.order;
      await expectUntouched(id, () => put(ref, orderBody({ currency: 'usd' })), 409, 'order_already_paid');
      const again = await put(ref, body);
      expect([again.status, again.body.status]).toEqual([200, 'paid']);

      const other = randomUUID();
      const canceled = (await put(other)).body.id;
      await cancel(canceled);
      await expectUntouched(
        canceled,
        () => put(other, orderBody({ currency: 'usd' })),
        409,
        'order_canceled',
      );
    });

    it('belongs to its tenant, and to every route', async () => {
      const ref = randomUUID();
      const ours = await put(ref);
      const theirs = await put(ref, orderBody(), { apiKey: GLOBEX.key });
      expect([theirs.status, theirs.body.id === ours.body.id]).toEqual([201, false]);
      const { status, body } = await post(at('/checkouts'), checkoutBody({ externalRef: ref }));
      expect([status, body.code, body.orderId]).toEqual([409, 'external_ref_taken', ours.body.id]);
    });

    it('is refused where path and body disagree, or the ref is none', async () => {
      const { status, body } = await put('a', orderBody({ externalRef: 'b' }));
      expect([status, body.error.param]).toEqual([400, 'externalRef']);
      for (const ref of ['\0', 'a\0b', 'x'.repeat(256)]) {
        const answer = await put(ref);
        expect([answer.status, answer.body.error.param]).toEqual([400, 'ref']);
      }
      expect((await put('x'.repeat(255))).status).toBe(201);
      expect((await put('🍵'.repeat(255))).status).toBe(201);
      expect((await put(randomUUID(), orderBody({ items: [] }))).status).toBe(400);
    });

    it('is made once by many PUTs at once: one 201, one order, and what it says is what one of them said', async () => {
      const ref = randomUUID();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => put(ref, orderBody({ metadata: { n: String(n % 4) } }))),
      );
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([...Array<number>(19).fill(200), 201]);
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
      const items = await shop.db.sql('SELECT 1 FROM order_items WHERE order_id = $1', [answers[0]!.body.id]);
      expect(items).toHaveLength(1);
    });
  });

  describe('A cancelation', () => {
    it('twice is once, also where the version it names is gone [IF-3]', async () => {
      const id = await anOrder();
      const first = await cancel(id, seen('"1"'));
      expect([first.status, first.body.status]).toEqual([200, 'canceled']);
      for (const options of [seen('"1"'), seen('"99"'), undefined]) {
        const again = await cancel(id, options);
        expect([again.status, again.text, etag(again)]).toEqual([200, first.text, etag(first)]);
      }
    });

    it('of another version than the present one does nothing: 412 [IF-1]', async () => {
      const id = await anOrder();
      await expectUntouched(id, () => cancel(id, seen('"99"')), 412, 'precondition_failed');
    });

    it('needs no body, and takes no members', async () => {
      const id = await anOrder();
      const { status, body } = await cancel(id, undefined, { reason: 'x', by: 'me' });
      expect([status, body.errors.map(({ param }: { param: string }) => param)]).toEqual([
        400,
        ['reason', 'by'],
      ]);
      expect((await cancel(id, undefined, '')).status).toBe(200);
      expect((await cancel('ord_00000000000000000000000000')).status).toBe(404);
      expect((await cancel(await anOrder(), { apiKey: GLOBEX.key })).status).toBe(404);
    });

    it('is refused while a payment is at work, and after it; and what is canceled cannot be paid', async () => {
      const inPayment = await orderInPayment();
      await expectUntouched(inPayment, () => cancel(inPayment), 409, 'order_payment_in_progress');
      const paid = await anOrder();
      await charge(paid);
      await expectUntouched(paid, () => cancel(paid), 409, 'order_already_paid');

      const canceled = await anOrder();
      await cancel(canceled);
      const { status, body } = await charge(canceled);
      expect([status, body.code]).toEqual([409, 'order_canceled']);
      expect(await shop.chargesOf(canceled)).toEqual([]);
    });
  });

  it('a key that is sent is neither needed nor stored, also with a 412 or 428 [IF-4]', async () => {
    const key = randomUUID();
    const id = await anOrder();
    expect((await setAddress(id, LONDON, { key })).status).toBe(428);
    expect((await setAddress(id, LONDON, { key, ...seen('"99"') })).status).toBe(412);
    expect((await setAddress(id, LONDON, { key, ...seen('"1"') })).status).toBe(200);
    expect((await cancel(id, { key, ...seen('"1"') })).status).toBe(412);
    expect((await cancel(id, { key, ...seen('"2"') })).status).toBe(200);
    expect((await put(randomUUID(), orderBody(), { key })).status).toBe(201);
    expect((await put(randomUUID(), orderBody(), { key: 'bad key,' })).status).toBe(201);
    expect(await shop.db.sql('SELECT 1 FROM idempotency_keys WHERE key = $1', [key])).toEqual([]);
    expect((await post(at('/checkouts'), checkoutBody(), { key })).status).toBe(201);
  });

  describe('In a race', () => {
    /** Takes the order's lock, so that those who come now queue for it in the order in which they come. */
    async function whileLocked(id: string, queue: (() => Promise<Answer>)[]): Promise<Answer[]> {
      const waiting: Promise<Answer>[] = [];
      await shop.db.database.transaction(async (tx) => {
        await tx
          .managerFor('acme')
          .query("SELECT 1 FROM orders WHERE tenant_id = 'acme' AND id = $1 FOR UPDATE", [id]);
        for (const one of queue) {
          waiting.push(one());
          await waitingForLock(shop.db, waiting.length);
        }
      });
      return Promise.all(waiting);
    }

    it('of two edits one is made, the other told that it came too late', async () => {
      const id = await anOrder();
      const [first, second] = await whileLocked(id, [
        () => setAddress(id, LONDON, seen('"1"')),
        () => setAddress(id, PARIS, seen('"1"')),
      ]);
      expect([first!.status, second!.status]).toEqual([200, 412]);
      expect((await read(id)).body.shippingAddress).toEqual(LONDON);
    });

    it('a charge that waited for an edit takes what the edit says: amount, items and receipt', async () => {
      const ref = randomUUID();
      const { id } = (await put(ref)).body;
      const items = [{ sku: 'mug', quantity: 1, unitAmount: 1250 }];
      const [edited, charged] = await whileLocked(id, [
        () => put(ref, orderBody({ items })),
        () => charge(id),
      ]);
      expect([edited!.status, charged!.status, charged!.body.amount]).toEqual([200, 201, 1250]);
      expect(await receiptOf(id)).toMatchObject({ amount: 1250, items: [{ sku: 'mug' }] });
    });

    it('an edit that waited for a charge is refused', async () => {
      const ref = randomUUID();
      const { id } = (await put(ref)).body;
      const [charged, edited] = await whileLocked(id, [
        () => charge(id),
        () => put(ref, orderBody({ currency: 'usd' })),
      ]);
      expect([charged!.status, edited!.status]).toEqual([201, 409]);
      expect((await read(id)).body).toMatchObject({ currency: 'eur', status: 'paid' });
    });

    it('a cancelation and a charge: whichever comes first, the other is refused', async () => {
      const [a, b] = [await anOrder(), await anOrder()];
      const [canceled, refused] = await whileLocked(a, [() => cancel(a), () => charge(a)]);
      expect([canceled!.status, refused!.body.code]).toEqual([200, 'order_canceled']);
      expect(await shop.chargesOf(a)).toEqual([]);
      const [charged, late] = await whileLocked(b, [() => charge(b), () => cancel(b)]);
      expect([charged!.status, late!.status]).toEqual([201, 409]);
      expect((await read(b)).body.status).toBe('paid');
    });

    it('edits, cancelations and charges in any number leave an order that agrees with its charge', async () => {
      for (let round = 0; round < 8; round++) {
        const ref = randomUUID();
        const { id } = (await put(ref)).body;
        const price = (n: number) => orderBody({ items: [{ sku: 'mug', quantity: 1, unitAmount: 100 + n }] });
        const answers = await Promise.all([
          ...Array.from({ length: 4 }, (_, n) => put(ref, price(n))),
          charge(id),
          ...(round % 2 === 0 ? [cancel(id), setAddress(id, LONDON, seen('"1"'))] : [charge(id)]),
        ]);
        for (const { status } of answers) expect([200, 201, 409, 412]).toContain(status);
        const order = (await read(id)).body;
        const made = await shop.chargesOf(id);
        expect(made.map(({ amount }) => amount)).toEqual(order.status === 'paid' ? [order.amount] : []);
        expect(order.items[0].quantity * order.items[0].unitAmount).toBe(order.amount);
        const [{ sku, unitAmount }] = order.items;
        if (order.status === 'paid')
          expect(await receiptOf(id)).toMatchObject({ items: [{ sku, unitAmount }] });
      }
    });
  });

  async function receiptOf(orderId: string): Promise<unknown> {
    const [row] = await shop.db.sql<{ payload: unknown }>(
      "SELECT payload FROM outbox_messages WHERE payload ->> 'orderId' = $1",
      [orderId],
    );
    return row?.payload;
  }
});
