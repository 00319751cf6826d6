import type { LedgerEntry } from '../support/mock-provider.js';
import type { ChargeFact, Facts, OrderFact } from './facts.js';
import { CHANGED_BODY, isDefinitive, WRONG_ORDER, type Intent } from './journal.js';

/** A promise that was broken, and whose timeline shows how. */
export interface Violation {
  readonly what: string;
  readonly tenant?: string;
  readonly key?: string;
  readonly orderId?: string;
}

/** @returns every promise that the facts break; each function below is one promise */
export function check(facts: Facts): Violation[] {
  return [
    ...everyAnswerIsTheSame(facts),
    ...everyReplyIsWhatIsStored(facts),
    ...changedBodiesAreRefused(facts),
    ...ownBodiesAreAccepted(facts),
    ...everyClientWasAnswered(facts),
    ...noAnswerIsAnAccident(facts),
    ...oneExecutionPerKey(facts),
    ...everyProviderChargeIsRecorded(facts),
    ...everyProviderRefundIsRecorded(facts),
    ...everySuccessWasMade(facts),
    ...paidMeansPaid(facts),
    ...refundsAreAccountedFor(facts),
    ...booksAgree(facts),
    ...everyReceiptArrived(facts),
    ...nobodyWroteOnAnothersKey(facts),
  ];
}

function everyAnswerIsTheSame({ journal }: Facts): Violation[] {
  return journal.intents.flatMap(({ tenant, key, tries }) => {
    const seen = new Set(tries.filter(isDefinitive).map(({ status, body }) => `${status} ${body}`));
    return seen.size > 1 ? [{ what: `${seen.size} different final answers`, tenant, key }] : [];
  });
}

function everyReplyIsWhatIsStored({ journal, keys }: Facts): Violation[] {
  const stored = new Map(keys.map((row) => [`${row.tenant} ${row.key}`, row]));
  return journal.intents.flatMap(({ tenant, key, tries }) => {
    const seen = tries.find(isDefinitive);
    const row = stored.get(`${tenant} ${key}`);
    if (!seen || (row?.reply_status === seen.status && row?.reply_body === seen.body)) return [];
    return [{ what: row ? 'the answer is not what is stored' : 'answered, and not stored', tenant, key }];
  });
}

function changedBodiesAreRefused({ journal }: Facts): Violation[] {
  return journal.intents.flatMap(({ tenant, key, tries }) =>
    tries
      .filter(
        ({ note, status }) => note === CHANGED_BODY && status !== undefined && status < 500 && status !== 422,
      )
      .map(({ status }) => ({ what: `another body was answered ${status}`, tenant, key })),
  );
}

/** A key is bound to its first body, and to no other; a refusal before the first commit binds it to none. */
function ownBodiesAreAccepted({ journal }: Facts): Violation[] {
  return journal.intents.flatMap(({ tenant, key, tries }) =>
    tries.some(({ note, status }) => note !== CHANGED_BODY && note !== WRONG_ORDER && status === 422)
      ? [{ what: 'its own body was answered 422', tenant, key }]
      : [],
  );
}

/** Whatever is away or broken has an answer of its own; this one means that nobody thought of it. */
function noAnswerIsAnAccident({ journal }: Facts): Violation[] {
  return journal.intents.flatMap(({ tenant, key, tries }) =>
    tries
      .filter(({ status = 0, code }) => status >= 500 && (code === undefined || code === 'internal_error'))
      .map(({ status, code }) => ({
        what: `answered ${status} ${code ?? 'without a problem'}`,
        tenant,
        key,
      })),
  );
}

/** Faults end, and clients retry on: at last each of them hears how it ended. */
function everyClientWasAnswered({ journal }: Facts): Violation[] {
  return journal.intents
    .filter(({ abandoned, final }) => !abandoned && !final)
    .map(({ tenant, key }) => ({ what: 'its client never got an answer', tenant, key }));
}

/** One key is one execution: at most one order that it made, one charge, one refund. */
function oneExecutionPerKey({ charges }: Facts): Violation[] {
  return repeated(charges, ({ tenant, key }) => `${tenant} ${key}`).map(([{ tenant, key }]) => ({
    what: 'one key made several charges',
    tenant,
    key,
  }));
}

function everyProviderChargeIsRecorded({ provider, charges, orders }: Facts): Violation[] {
  const ours = byId(charges);
  const purchases = byId(orders);
  const made = provider.charges.filter(({ status }) => status === 'succeeded');
  const twice = repeated(made, ({ metadata }) => metadata['order_id'] ?? '').map(([{ metadata }]) => ({
    what: 'an order was charged more than once',
    orderId: metadata['order_id']!,
  }));
  const lost = made.flatMap((entry) => {
    const charge = ours.get(entry.metadata['charge_id'] ?? '');
    const why = mismatch(entry, charge, purchases.get(charge?.order_id ?? ''));
    return why ? [{ what: `the provider charged, and ${why}`, orderId: entry.metadata['order_id']! }] : [];
  });
  return [...twice, ...lost];
}

function mismatch(entry: LedgerEntry, charge?: ChargeFact, order?: OrderFact): string | undefined {
  if (!charge || !order) return 'there is no such charge';
  if (charge.status !== 'succeeded') return `the charge is ${charge.status}`;
  if (order.status !== 'paid') return `the order is ${order.status}`;
  if (charge.provider_id !== entry.id) return `we know it as ${charge.provider_id}`;
  if (charge.tenant !== entry.metadata['tenant_id']) return 'it is another tenant’s';
  if (charge.amount !== entry.amount || charge.currency !== entry.currency) return 'not that amount';
  return charge.derived_key === entry.idempotencyKey ? undefined : 'under another derived key';
}

function everyProviderRefundIsRecorded({ provider, refunds }: Facts): Violation[] {
  const ours = byId(refunds);
  const twice = repeated(provider.refunds, ({ metadata }) => metadata['refund_id'] ?? '').map(
    ([{ metadata }]) => ({ what: `${metadata['refund_id']} was refunded more than once` }),
  );
  const lost = provider.refunds.flatMap(({ id, status, metadata }) => {
    const refund = ours.get(metadata['refund_id'] ?? '');
    if (refund?.provider_id === id && refund.status === status) return [];
    const known = refund ? `${refund.id} is ${refund.status} (${refund.provider_id})` : 'we know nothing';
    return [{ what: `the provider’s refund ${id} is ${status}, and ${known}` }];
  });
  return [...twice, ...lost];
}

/** Where a client saw that it paid, it paid. */
function everySuccessWasMade({ journal, provider }: Facts): Violation[] {
  const made = new Set(
    provider.charges
      .filter(({ status }) => status === 'succeeded')
      .map(({ metadata }) => metadata['charge_id']),
  );
  return journal.intents.flatMap((intent) => {
    const charge = chargeSeen(intent);
    return charge?.status === 'succeeded' && !made.has(charge.id)
      ? [
          {
            what: `${charge.id} was answered succeeded, and never made`,
            tenant: intent.tenant,
            key: intent.key,
          },
        ]
      : [];
  });
}

function chargeSeen({ route, tries }: Intent): { id: string; status: string } | undefined {
  const body = tries.find((each) => isDefinitive(each) && each.status === 201)?.body;
  if (body === undefined || (route !== 'checkout' && route !== 'charge')) return undefined;
  const answer = JSON.parse(body) as { id: string; status: string; charge?: { id: string; status: string } };
  return answer.charge ?? answer;
}

/** Order paid, one charge succeeded, one row in the ledger: all or none of them. */
function paidMeansPaid({ orders, charges, ledger }: Facts): Violation[] {
  const succeeded = countBy(
    charges.filter(({ status }) => status === 'succeeded'),
    ({ order_id }) => order_id,
  );
  const booked = new Map(ledger.filter(({ kind }) => kind === 'charge').map((row) => [row.subject, row]));
  const known = byId(orders);
  const wrong = orders.flatMap(({ id, tenant, status, amount }) => {
    const charged = succeeded.get(id) ?? 0;
    const row = booked.get(id);
    const expected = status === 'paid' ? 1 : 0;
    if (charged === expected && (row ? 1 : 0) === expected && (row?.amount ?? amount) === amount) return [];
    return [
      {
        what: `order ${status}, ${charged} charges succeeded, ledger ${row?.amount ?? 'has none'}`,
        tenant,
        orderId: id,
      },
    ];
  });
  const stray = [...booked.keys()].filter((id) => !known.has(id));
  return [...wrong, ...stray.map((orderId) => ({ what: 'the ledger has a row of no order', orderId }))];
}

function refundsAreAccountedFor({ refunds, charges, ledger }: Facts): Violation[] {
  const count = (kind: string, id: string) =>
    ledger.filter((row) => row.kind === kind && row.subject === id).length;
  const unbooked = refunds.flatMap(({ id, status, tenant }) => {
    const net = count('refund', id) - count('refund_reversal', id);
    return net === (status === 'succeeded' ? 1 : 0)
      ? []
      : [{ what: `${id} is ${status}, ledger ${net}`, tenant }];
  });
  const unreserved = charges.flatMap(({ id, tenant, order_id, amount_refunded }) => {
    const live = refunds.filter(({ charge_id, status }) => charge_id === id && !GONE.has(status));
    const sum = live.reduce((total, { amount }) => total + amount, 0);
    return sum === amount_refunded
      ? []
      : [{ what: `${id}: refunds ${sum}, reserved ${amount_refunded}`, tenant, orderId: order_id }];
  });
  return [...unbooked, ...unreserved];
}

const GONE = new Set(['failed', 'canceled']);

function booksAgree({ ledger, provider }: Facts): Violation[] {
  const ours = new Map<string, number>();
  const theirs = new Map<string, number>();
  const add = (sums: Map<string, number>, currency: string, amount: number) =>
    sums.set(currency, (sums.get(currency) ?? 0) + amount);
  for (const { currency, amount, debit_account } of ledger)
    add(ours, currency, debit_account === 'provider_balance' ? amount : -amount);
  for (const { currency, amount, status } of provider.charges)
    if (status === 'succeeded') add(theirs, currency, amount);
  for (const { currency, amount, status } of provider.refunds)
    if (status === 'succeeded') add(theirs, currency, -amount);
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((currency) => (ours.get(currency) ?? 0) !== (theirs.get(currency) ?? 0))
    .map((currency) => ({
      what: `${currency}: ledger ${ours.get(currency)}, provider ${theirs.get(currency)}`,
    }));
}

/** A message in the outbox and a mail in the mailbox for everything that happened, and for nothing else. */
function everyReceiptArrived({ orders, ledger, outbox, mails }: Facts): Violation[] {
  const staged = new Set(outbox.map(({ tenant, dedupe_key }) => `${tenant} ${dedupe_key}`));
  const arrived = new Set(mails.map(({ messageId }) => messageId));
  const due = [
    ...orders
      .filter(({ status }) => status === 'paid')
      .map(({ tenant, id }) => ({ tenant, name: `receipt:${id}` })),
    ...ledger
      .filter(({ kind }) => kind === 'refund')
      .map(({ tenant, subject }) => ({ tenant, name: `refund-receipt:${subject}` })),
  ];
  const idOf = (tenant: string, name: string) => `<${name.replace(':', '.')}.${tenant}@example.com>`;
  const expected = new Set(due.map(({ tenant, name }) => idOf(tenant, name)));
  return [
    ...due
      .filter(({ tenant, name }) => !staged.has(`${tenant} ${name}`))
      .map(({ tenant, name }) => ({ what: `${name} is not in the outbox`, tenant, ...orderIn(name) })),
    ...due
      .filter(({ tenant, name }) => !arrived.has(idOf(tenant, name)))
      .map(({ tenant, name }) => ({ what: `${name} did not arrive`, tenant, ...orderIn(name) })),
    ...[...arrived]
      .filter((id) => !expected.has(id))
      .map((id) => ({ what: `the mail ${id} tells of nothing that happened`, ...orderIn(id) })),
  ];
}

function orderIn(text: string): { orderId?: string } {
  const orderId = /ord_[0-9a-z]{26}/.exec(text)?.[0];
  return orderId === undefined ? {} : { orderId };
}

function nobodyWroteOnAnothersKey({ audit }: Facts): Violation[] {
  return audit.map(({ what, tenant, key, process }) => ({ what: `${process}: key ${what}`, tenant, key }));
}

function byId<Row extends { readonly id: string }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

function countBy<Row>(rows: readonly Row[], nameOf: (row: Row) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(nameOf(row), (counts.get(nameOf(row)) ?? 0) + 1);
  return counts;
}

function repeated<Row>(rows: readonly Row[], nameOf: (row: Row) => string): [Row, ...Row[]][] {
  const groups = new Map<string, [Row, ...Row[]]>();
  for (const row of rows) {
    const group = groups.get(nameOf(row));
    if (group) group.push(row);
    else groups.set(nameOf(row), [row]);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}
