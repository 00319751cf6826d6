import type { LedgerEntry } from '../support/mock-provider.js';
import { isFinal, type Model } from './model.js';
import type { World } from './world.js';

/** Enough for whatever is left behind: the work of one round may be what the next one needs. */
const ROUNDS = 8;

/** Faults stop, and everybody comes back. @throws where something never ends */
export async function healed(model: Model, world: World): Promise<void> {
  await world.heal();
  for (let round = 0; round < ROUNDS; round++) {
    await world.endLeases();
    await world.complete();
    await world.deliverAll();
    await world.consume();
    await world.reconcile();
    await world.relay();
    if ((await world.unfinished()).length === 0) break;
  }
  expect(await world.unfinished()).toEqual([]);
  await everybodyAsksAgain(model, world);
  await world.relay(); // a request that had left no trace has run just now
}

/** The first time some hear it, the others hear it again: the model compares. */
async function everybodyAsksAgain(model: Model, world: World): Promise<void> {
  for (const key of model.used())
    for (const ask of [...key.asked]) {
      await key.ask(ask, async () => {
        const answer = await world.send(key, ask);
        expect(answer && (isFinal(answer) || isWaiting(answer.body.code as string))).toBe(true);
        return answer;
      });
    }
}

/** A customer has not made up his mind; that is no fault of the service. */
const isWaiting = (code: string) => ['order_payment_in_progress', 'charge_in_progress'].includes(code);

/** What must be true of money, whatever has happened. */
export async function expectBooksInOrder(model: Model, world: World): Promise<void> {
  await expectEveryOrderAskedFor(model, world);
  await expectOneChargePerOrder(world);
  await expectPaidEverywhereOrNowhere(world);
  await expectRefundsMadeOnce(model, world);
  await expectSumsAgree(world);
  await expectOneMailEach(world);
  expect(await world.sql('SELECT reason, evidence FROM reviews')).toEqual([]);
  expect(await world.unfinished()).toEqual([]);
}

/** One order for each checkout that was answered, and no other: a key is one purchase. */
async function expectEveryOrderAskedFor(model: Model, world: World): Promise<void> {
  const answered = model.replies('checkout').map(({ body }) => (body.order?.id ?? body.orderId) as string);
  const orders = await world.sql<{ id: string }>('SELECT id FROM orders');
  expect(orders.map(({ id }) => id).sort()).toEqual(answered.sort());
}

async function expectOneChargePerOrder(world: World): Promise<void> {
  const { charges } = await world.provided();
  const made = charges
    .filter(({ status }) => status !== 'failed')
    .map(({ metadata }) => metadata['order_id']);
  expect(new Set(made).size).toBe(made.length);
  const derivedKeys = charges.map(({ idempotencyKey }) => idempotencyKey);
  expect(new Set(derivedKeys).size).toBe(derivedKeys.length);
}

async function expectPaidEverywhereOrNowhere(world: World): Promise<void> {
  const orders = await world.sql<OrderInBooks>(`
    SELECT id, status = 'paid' AS paid,
           (SELECT count(*)::int FROM charges WHERE charges.tenant_id = orders.tenant_id AND order_id = orders.id AND status = 'succeeded') AS charges,
           (SELECT count(*)::int FROM ledger_entries WHERE ledger_entries.tenant_id = orders.tenant_id AND kind = 'charge' AND subject = orders.id) AS ledger,
           (SELECT count(*)::int FROM outbox_messages WHERE outbox_messages.tenant_id = orders.tenant_id AND dedupe_key = 'receipt:' || orders.id) AS receipts
      FROM orders`);
  const succeeded = await succeededOrders(world);
  for (const { id, paid, ...counts } of orders) {
    const one = paid ? 1 : 0;
    expect({ id, ...counts }).toEqual({ id, charges: one, ledger: one, receipts: one });
    expect(succeeded.has(id)).toBe(paid);
  }
  expect([...succeeded].filter((id) => !orders.some((order) => order.id === id))).toEqual([]);
}

interface OrderInBooks {
  readonly id: string;
  readonly paid: boolean;
  readonly charges: number;
  readonly ledger: number;
  readonly receipts: number;
}

async function succeededOrders(world: World): Promise<Set<string>> {
  const { charges } = await world.provided();
  return new Set(
    charges.filter(({ status }) => status === 'succeeded').map(({ metadata }) => metadata['order_id']!),
  );
}

async function expectRefundsMadeOnce(model: Model, world: World): Promise<void> {
  const answered = model.replies('refund').flatMap(({ status, body }) => (status === 201 ? [body.id] : []));
  const made = (await world.provided()).refunds.map(({ metadata }) => metadata['refund_id']);
  expect(made.sort()).toEqual(answered.sort());
  const wrong = await world.sql(`
    SELECT id FROM charges WHERE amount_refunded <> (SELECT coalesce(sum(amount), 0) FROM refunds
     WHERE refunds.tenant_id = charges.tenant_id AND charge_id = charges.id AND refunds.status NOT IN ('failed', 'canceled'))`);
  expect(wrong).toEqual([]);
}

/** What the ledger says we have is what the provider took less what it gave back; all is in one currency here. */
async function expectSumsAgree(world: World): Promise<void> {
  const [ours] = await world.sql<{ sum: number }>(
    `SELECT coalesce(sum(CASE 'provider_balance' WHEN debit_account THEN amount ELSE -amount END), 0)::int AS sum
       FROM ledger_entries`,
  );
  const { charges, refunds } = await world.provided();
  expect(ours!.sum).toBe(sumOf(charges) - sumOf(refunds));
}

function sumOf(entries: readonly LedgerEntry[]): number {
  return entries.filter(({ status }) => status === 'succeeded').reduce((sum, { amount }) => sum + amount, 0);
}

/** Sent again where the mail server's answer was lost, and then the same mail. */
async function expectOneMailEach(world: World): Promise<void> {
  const [staged] = await world.sql<{ count: number }>('SELECT count(*)::int FROM outbox_messages');
  const mails = await world.mailbox.messages();
  expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(staged!.count);
}
