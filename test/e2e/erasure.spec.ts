import { randomUUID } from 'node:crypto';
import { checkoutBody, get, orderBody, post, send, type Answer } from '../support/checkout.js';
import { waitingForLock } from '../support/locks.js';
import { OPERATORS, operate } from '../support/operator.js';
import { expectLedgersAgree, refund } from '../support/refunds.js';
import { startSystem, type System } from '../support/start-system.js';
import { authenticate, intentOf, STRIPE_WEBHOOK_SECRETS, subscribe } from '../support/webhooks.js';

/** What names the person, or is theirs. */
const CANARIES = {
  email: 'Canary-Mail@example.com',
  name: 'Canary Person',
  street: 'Canary Street 7',
  metadata: 'canary-metadata',
};

/** The client's own words: erased where that is asked for. */
const WORDS = { externalRef: 'canary-reference', sku: 'canary-sku', description: 'For Canary, engraved' };

const PERSONAL = {
  customer: { email: CANARIES.email, name: CANARIES.name },
  shippingAddress: { line1: CANARIES.street, city: 'X', postalCode: '1', country: 'DE' },
  metadata: { note: CANARIES.metadata },
};
const ITEMS = [{ sku: WORDS.sku, description: WORDS.description, quantity: 1, unitAmount: 700 }];
const BY_ADDRESS = { tenantId: 'acme', email: CANARIES.email.toLowerCase() };

let system: System;
let told: number;
beforeEach(async () => {
  told = 0;
  system = await startSystem({ workers: 1, OPERATOR_TOKENS: OPERATORS.ada, STRIPE_WEBHOOK_SECRETS });
  await subscribe(system.provider, url());
});
afterEach(() => system.stop());

const url = () => system.apis[0]!.url;
const sql = <Row = { count: number }>(text: string, values?: unknown[]) =>
  system.database.sql<Row>(text, values);
const checkout = (key: string = randomUUID(), changes = {}) =>
  post(`${url()}/v1/checkouts`, checkoutBody({ ...PERSONAL, ...changes }), { key });
const preview = (body: object) => operate(url(), 'post', 'erasures/preview', { body, token: OPERATORS.ada });
const erase = (body: object) => operate(url(), 'post', 'erasures', { body, token: OPERATORS.ada });

/** Everything that any table holds, as text, in one order however it was read; replies are kept as bytes. */
async function dump(): Promise<string> {
  const tables = await sql<{ table: string; columns: string }>(
    `SELECT c.table_name AS table,
            string_agg(format(CASE data_type WHEN 'bytea' THEN 'encode(%1$I, ''escape'') AS %1$I' ELSE '%1$I::text' END, column_name), ', ' ORDER BY ordinal_position) AS columns
       FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
      WHERE table_schema = 'public' AND table_type = 'BASE TABLE' GROUP BY 1 ORDER BY 1`,
  );
  const texts = await Promise.all(
    tables.map(async ({ table, columns }) => {
      const rows = await sql<Record<string, string | null>>(`SELECT ${columns} FROM "${table}"`);
      return rows.map((row) => Object.values(row).join('\n')).sort();
    }),
  );
  return texts.flat().join('\n').toLowerCase();
}

async function found(values: Readonly<Record<string, string>>): Promise<string[]> {
  const all = await dump();
  return Object.keys(values).filter((name) => all.includes(values[name]!.toLowerCase()));
}

/** The worker has nothing left to do: every mail is out, and so many more events have come, and are applied. */
async function quiet(events: number): Promise<void> {
  told += events;
  for (let tries = 0; tries < 600; tries++) {
    const [left] = await sql(
      `SELECT (SELECT count(*)::int FROM outbox_messages WHERE sent_at IS NULL AND dead_at IS NULL)
            + (SELECT abs(count(applied_at) - $1)::int FROM inbox_messages)
            + (SELECT count(*)::int FROM idempotency_keys WHERE status <> 'finished') AS count`,
      [told],
    );
    if (left!.count === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('It did not come to rest within 15 s');
}

/** A person of whom every table that can hold something holds it. @returns what they would ask again */
async function knownPerson() {
  const placed = {
    key: randomUUID(),
    body: orderBody({ ...PERSONAL, externalRef: WORDS.externalRef, items: ITEMS }),
  };
  const place = () => post(`${url()}/v1/orders`, placed.body, { key: placed.key });
  const { body: order } = await place();
  const declining = { orderId: order.id, paymentMethod: 'pm_card_visa_chargeDeclined' };
  const declinedKey = randomUUID();
  const decline = () => post(`${url()}/v1/charges`, declining, { key: declinedKey });
  expect((await decline()).status).toBe(402);
  const paying = { orderId: order.id, paymentMethod: 'pm_card_authenticationRequired' };
  const payKey = randomUUID();
  const pay = () => post(`${url()}/v1/charges`, paying, { key: payKey });
  const { body: charge } = await pay();
  await authenticate(system.provider, (await intentOf(system.provider, charge.id))['id'], 'succeed');
  const bought = { key: randomUUID() };
  const buy = () => checkout(bought.key);
  const second = await buy();
  await quiet(4);
  expect((await refund(url(), charge.id, { amount: 100 })).status).toBe(201);
  await quiet(1);
  await sql(
    `UPDATE outbox_messages SET sent_at = NULL, dead_at = now(), last_error = '550 no ' || $2
      WHERE dedupe_key = $1`,
    [`receipt:${second.body.order.id}`, CANARIES.email],
  );
  await sql(
    `INSERT INTO reviews (tenant_id, id, subject_kind, subject_id, reason, evidence, decision, decided_by, decided_at, note)
     VALUES ('acme', 'rev_00000000000000000000000001', 'charge', $1, 'provider_contradicts', $2, 'retry', 'operator 1', now(), $3),
            ('acme', 'rev_00000000000000000000000002', 'charge', $1, 'charged_after_all', '{}', 'retry', 'operator 1', now(), 'called')`,
    [
      charge.id,
      { provider: { outcome: { status: 'declined', failure: { code: 'x', message: CANARIES.name } } } },
      `wrote to ${CANARIES.email}`,
    ],
  );
  return { order, charge, second: second.body, place, decline, pay, buy };
}

describe('Erasing a person', () => {
  it('shows what is held, erases all of it, and leaves the books and every guard as they were', async () => {
    const person = await knownPerson();
    const other = await checkout(randomUUID(), { customer: { email: 'x' + CANARIES.email } });
    await quiet(1);
    const before = await dump();
    expect(await found({ ...CANARIES, ...WORDS })).toEqual(Object.keys({ ...CANARIES, ...WORDS }));

    const looked = await preview(BY_ADDRESS);
    expect(looked).toMatchObject({
      status: 200,
      body: {
        orders: [
          { id: person.order.id, status: 'paid', keepsExternalRef: true, erasedAt: null },
          { id: person.second.order.id, status: 'paid', keepsExternalRef: false },
        ],
        replies: 4,
        mails: 2,
        deadLetters: 1,
        charges: 1,
        reviews: 1,
        notesToRead: ['rev_00000000000000000000000002'],
        obstacles: [],
      },
    });
    expect(looked.body.events).toBeGreaterThan(0);
    expect(looked.text.toLowerCase()).not.toContain(CANARIES.email.toLowerCase());
    expect(await dump()).toBe(before);

    const erased = await erase(BY_ADDRESS);
    expect(erased.status).toBe(200);
    expect(erased.body.orders.map(({ erasedBy }: { erasedBy: string }) => erasedBy)).toEqual([
      expect.stringMatching(/^operator [0-9a-f]{8}$/),
      expect.stringMatching(/^operator [0-9a-f]{8}$/),
    ]);
    // The other customer has the same name, street and metadata, and is nobody whom it is about.
    expect(await dump()).toContain(`x${CANARIES.email}`.toLowerCase());
    await erase({ tenantId: 'acme', orderId: other.body.order.id });
    expect(await found(CANARIES)).toEqual([]);

    await expectLedgersAgree(system.database, system.provider);
    expect(await get(`${url()}/v1/orders/${person.order.id}`)).toMatchObject({
      status: 200,
      body: {
        status: 'paid',
        amount: 700,
        amountRefunded: 100,
        customer: { email: 'erased@erased.invalid', name: null },
        shippingAddress: null,
        metadata: {},
        externalRef: WORDS.externalRef,
      },
    });
    await neverAgain(person);
  });

  it('overwrites the client’s own words only where that is asked for, and gives up their guard with them', async () => {
    const { order, charge } = await knownPerson();
    await erase({ ...BY_ADDRESS });
    expect(await found(WORDS)).toEqual(Object.keys(WORDS));
    const { body } = await erase({ tenantId: 'acme', orderId: order.id, also: ['externalRef', 'items'] });
    expect(body.orders).toMatchObject([{ id: order.id, keepsExternalRef: false }]);
    expect(await found({ ...CANARIES, ...WORDS })).toEqual([]);
    const again = await post(`${url()}/v1/orders`, orderBody({ externalRef: WORDS.externalRef }));
    expect(again.status).toBe(201);
    expect((await get(`${url()}/v1/charges/${charge.id}`)).body.status).toBe('succeeded');
  });

  it('twice is once: the first time stands, and what came later is erased as well', async () => {
    const { order, charge } = await knownPerson();
    const by = { tenantId: 'acme', orderId: order.id };
    const first = await erase(by);
    const after = await dump();
    const second = await erase(by);
    expect(second.body).toEqual({ ...first.body, replies: 0, mails: 0, charges: 0, events: 0, reviews: 0 });
    expect(await dump()).toBe(after);

    const sent = (await system.mailbox.messages()).length;
    expect((await refund(url(), charge.id, { amount: 50 })).status).toBe(201);
    await quiet(1);
    expect((await system.mailbox.messages()).length).toBe(sent); // there is nobody left to tell
    expect(
      (await sql("SELECT 1 FROM outbox_messages WHERE payload::text LIKE '%erased.invalid%'")).length,
    ).toBe(0);
    expect((await erase(by)).body.orders).toEqual(first.body.orders);
    await expectLedgersAgree(system.database, system.provider);
  });

  it('waits for what is under way, says for what, and erases nothing meanwhile', async () => {
    const waiting = await checkout(randomUUID(), { paymentMethod: 'pm_card_visa_chargeDeclined' });
    const orderId: string = waiting.body.orderId;
    await quiet(1);
    const by = { tenantId: 'acme', orderId };
    const kinds = ({ body }: Answer): string[] =>
      body.obstacles.map(({ kind, status }: { kind: string; status: string }) => `${kind} ${status}`);
    expect(kinds(await preview(by))).toEqual(['order pending']);

    const open = await post(`${url()}/v1/charges`, {
      orderId,
      paymentMethod: 'pm_card_authenticationRequired',
    });
    await quiet(1);
    const before = await dump();
    const blocked = await erase(by);
    expect(blocked).toMatchObject({ status: 409, body: { code: 'erasure_blocked' } });
    expect(kinds(blocked)).toEqual(['order pending', 'charge requires_action']);
    expect(blocked.body.detail).toContain(`order ${orderId} is pending and waits for its payment`);
    expect(await dump()).toBe(before);

    await system.mailbox.fault({ kind: 'reject', times: 1000 });
    await authenticate(system.provider, (await intentOf(system.provider, open.body.id))['id'], 'succeed');
    while ((await get(`${url()}/v1/orders/${orderId}`)).body.status !== 'paid')
      await new Promise((resolve) => setTimeout(resolve, 25));
    expect(kinds(await erase(by))).toContain('mail due');
    await sql('UPDATE outbox_messages SET dead_at = now(), due_at = NULL');
    await sql(
      "UPDATE idempotency_keys SET status = 'in_progress', reply_status = NULL, reply_body = NULL, expires_at = NULL, input = $1 WHERE reply_status = 201",
      [{ orderId }],
    );
    await sql(
      `INSERT INTO reviews (tenant_id, id, subject_kind, subject_id, reason, evidence)
       VALUES ('acme', 'rev_00000000000000000000000003', 'charge', $1, 'provider_contradicts', '{}')`,
      [open.body.id],
    );
    await sql(
      `INSERT INTO refunds (tenant_id, id, charge_id, status, amount, currency, derived_key) VALUES ('acme', 're_1', $1, 'pending', 1, 'eur', 'k')`,
      [open.body.id],
    );
    const kindsNow = kinds(await erase(by));
    expect(kindsNow).toEqual(expect.arrayContaining(['refund pending', 'key in_progress', 'review open']));
  });

  it('erases nothing where something has changed since it was looked up', async () => {
    const { body } = await checkout();
    await quiet(1);
    const by = { tenantId: 'acme', orderId: body.order.id };
    const { overtaken } = await system.database.database.transaction(async (tx) => {
      // As a refund does that begins just then: whoever holds the order is alone with it.
      await tx.managerFor('acme').query('UPDATE orders SET version = version + 1');
      const erasing = erase(by);
      await waitingForLock(system.database);
      return { overtaken: erasing }; // in an object: awaited here, it would wait for this very commit
    });
    const before = await dump();
    expect(await overtaken).toMatchObject({ status: 409, body: { code: 'erasure_overtaken' } });
    expect(await dump()).toBe(before);
    expect((await erase(by)).status).toBe(200);
    expect(await found(CANARIES)).toEqual([]);
  });

  it('finds what an address left behind where the order has another one by now', async () => {
    const key = randomUUID();
    const placed = orderBody({ ...PERSONAL, externalRef: 'moved' });
    const first = await post(`${url()}/v1/orders`, placed, { key });
    const moved = { ...placed, customer: { email: 'grace@example.com' }, metadata: {} };
    delete (moved as Record<string, unknown>)['shippingAddress'];
    expect((await send('put', `${url()}/v1/orders/by-external-ref/moved`, moved)).status).toBe(200);
    expect((await erase(BY_ADDRESS)).body).toMatchObject({ orders: [], replies: 1 });
    expect(await found(CANARIES)).toEqual([]);
    expect((await post(`${url()}/v1/orders`, placed, { key })).status).toBe(410);
    expect((await get(`${url()}/v1/orders/${first.body.id}`)).body.customer.email).toBe('grace@example.com');
  });

  it('is for operators, of a tenant that there is, about one person', async () => {
    const by = { tenantId: 'acme', orderId: 'ord_00000000000000000000000000' };
    expect((await operate(url(), 'post', 'erasures', { body: by, token: 'ck_test_acme' })).status).toBe(403);
    expect((await operate(url(), 'post', 'erasures', { body: by, token: undefined })).status).toBe(401);
    expect(await erase(by)).toMatchObject({ status: 404, body: { code: 'order_not_found' } });
    expect(await erase({ ...BY_ADDRESS, tenantId: 'acne' })).toMatchObject({
      status: 404,
      body: { code: 'tenant_not_found' },
    });
    for (const wrong of [{}, { tenantId: 'acme' }, { ...BY_ADDRESS, ...by }, { ...by, also: ['name'] }])
      expect((await preview(wrong)).status).toBe(400);
    const { body: theirs } = await checkout();
    await quiet(1);
    expect((await erase({ tenantId: 'globex', orderId: theirs.order.id })).status).toBe(404);
    expect((await erase({ tenantId: 'globex', email: CANARIES.email })).body.orders).toEqual([]);
    expect(await found({ email: CANARIES.email })).toEqual(['email']);
  });
});

/** The keys are taken still, and what they led to stands: whoever comes back is told so, and nothing runs. */
async function neverAgain(person: Awaited<ReturnType<typeof knownPerson>>): Promise<void> {
  const made = (await system.provider.ledger()).charges.length;
  for (const [retry, erasedStatus, orderId] of [
    [person.place, 201, person.order.id],
    [person.decline, 402, person.order.id],
    [person.pay, 201, person.order.id],
    [person.buy, 201, person.second.order.id],
  ] as const) {
    const answer = await retry();
    expect(answer).toMatchObject({
      status: 410,
      body: { code: 'idempotency_reply_erased', erasedStatus, orderId },
    });
    expect(answer.headers.get('Idempotent-Replayed')).toBe('true');
    expect(answer.headers.get('Should-Retry')).toBe('false');
  }
  const again = await post(`${url()}/v1/orders`, orderBody({ externalRef: WORDS.externalRef }));
  expect(again).toMatchObject({
    status: 409,
    body: { code: 'external_ref_taken', orderId: person.order.id },
  });
  const paying = { orderId: person.order.id, paymentMethod: 'pm_card_visa' };
  expect((await post(`${url()}/v1/charges`, paying)).body.code).toBe('order_already_paid');
  expect((await system.provider.ledger()).charges.length).toBe(made);
}
