import type { LedgerEntry } from '../support/mock-provider.js';
import type { ChargeFact, Facts, OrderFact } from './facts.js';
import { isDefinitive, type Intent } from './journal.js';
import { byId, countBy, repeated } from './rows.js';
import type { Violation } from './violation.js';

/** One key is one execution: at most one order that it made, one charge, one refund. */
export function oneExecutionPerKey({ charges, orders, keys }: Facts): Violation[] {
  const twice = repeated(charges, ({ tenant, key }) => `${tenant} ${key}`).map(([{ tenant, key }]) => ({
    what: 'one key made several charges',
    tenant,
    key,
  }));
  return [...twice, ...ordersOfNoKey({ charges, orders, keys })];
}

/** An order is written together with the first intent to charge it, or with the reply that tells of it. */
function ordersOfNoKey({ charges, orders, keys }: Pick<Facts, 'charges' | 'orders' | 'keys'>): Violation[] {
  const charged = new Set(charges.map(({ order_id }) => order_id));
  const told = new Set(
    keys.flatMap(({ operation, reply_status, reply_body }) =>
      operation === 'create_order' && reply_status === 201
        ? (JSON.parse(reply_body!) as { id: string }).id
        : [],
    ),
  );
  return orders
    .filter(({ id }) => !charged.has(id) && !told.has(id))
    .map(({ id, tenant }) => ({ what: 'an order that no key accounts for', tenant, orderId: id }));
}

export function nothingIsDoneTwice({ provider }: Facts): Violation[] {
  const charged = repeated(provider.charges.filter(isMade), ({ metadata }) => metadata['order_id'] ?? '');
  const refunded = repeated(provider.refunds, ({ metadata }) => metadata['refund_id'] ?? '');
  return [
    ...charged.map(([{ metadata }]) => ({
      what: 'an order was charged more than once',
      orderId: metadata['order_id']!,
    })),
    ...refunded.map(([{ metadata }]) => ({ what: `${metadata['refund_id']} was refunded more than once` })),
  ];
}

/** A decline is what the provider said, and never what nobody heard. */
export function noMadeChargeIsDeclined({ provider, charges }: Facts): Violation[] {
  const ours = byId(charges);
  return provider.charges.filter(isMade).flatMap(({ metadata }) => {
    const charge = ours.get(metadata['charge_id'] ?? '');
    return charge?.status === 'declined' || charge?.status === 'rejected'
      ? [{ what: `the provider charged, and the charge is ${charge.status}`, orderId: charge.order_id }]
      : [];
  });
}

export function everyProviderChargeIsRecorded({ provider, charges, orders }: Facts): Violation[] {
  const ours = byId(charges);
  const purchases = byId(orders);
  const givenBack = new Map<string, number>();
  for (const { charge, amount, status } of provider.refunds)
    if (status === 'succeeded') givenBack.set(charge, (givenBack.get(charge) ?? 0) + amount);
  return provider.charges.filter(isMade).flatMap((entry) => {
    const charge = ours.get(entry.metadata['charge_id'] ?? '');
    const why = mismatch(entry, charge, purchases.get(charge?.order_id ?? ''));
    if (!why || givenBack.get(entry.id) === entry.amount) return [];
    return [{ what: `the provider charged, and ${why}`, orderId: entry.metadata['order_id']! }];
  });
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

export function everyProviderRefundIsRecorded({ provider, refunds }: Facts): Violation[] {
  const ours = byId(refunds);
  return provider.refunds.flatMap(({ id, status, metadata }) => {
    const refund = ours.get(metadata['refund_id'] ?? '');
    if (refund?.provider_id === id && refund.status === status) return [];
    const known = refund ? `${refund.id} is ${refund.status} (${refund.provider_id})` : 'we know nothing';
    return [{ what: `the provider’s refund ${id} is ${status}, and ${known}` }];
  });
}

/** Where a client saw that it paid, it paid. */
export function everySuccessWasMade({ journal, provider }: Facts): Violation[] {
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
export function paidMeansPaid({ orders, charges, ledger }: Facts): Violation[] {
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

export function refundsAreAccountedFor({ refunds, charges, ledger }: Facts): Violation[] {
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

export function booksAgree({ ledger, provider }: Facts): Violation[] {
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

function isMade({ status }: LedgerEntry): boolean {
  return status === 'succeeded';
}
