import type { Facts } from './facts.js';
import type { Violation } from './violation.js';

/** What a customer is told of: each payment, and each refund. */
function due({ orders, ledger }: Facts): { tenant: string; name: string }[] {
  const paid = orders.filter(({ status }) => status === 'paid');
  const refunded = ledger.filter(({ kind }) => kind === 'refund');
  return [
    ...paid.map(({ tenant, id }) => ({ tenant, name: `receipt:${id}` })),
    ...refunded.map(({ tenant, subject }) => ({ tenant, name: `refund-receipt:${subject}` })),
  ];
}

/** The message is written together with what it tells of. */
export function everyReceiptIsStaged(facts: Facts): Violation[] {
  const staged = new Set(facts.outbox.map(({ tenant, dedupe_key }) => `${tenant} ${dedupe_key}`));
  return due(facts)
    .filter(({ tenant, name }) => !staged.has(`${tenant} ${name}`))
    .map(({ tenant, name }) => ({ what: `${name} is not in the outbox`, tenant, ...orderIn(name) }));
}

/** Under its one Message-ID, and no mail tells of anything else. */
export function everyReceiptArrived(facts: Facts): Violation[] {
  const arrived = new Set(facts.mails.map(({ messageId }) => messageId));
  const expected = new Map(due(facts).map((each) => [idOf(each.tenant, each.name), each]));
  const missing = [...expected].filter(([id]) => !arrived.has(id));
  return [
    ...missing.map(([, { tenant, name }]) => ({ what: `${name} did not arrive`, tenant, ...orderIn(name) })),
    ...[...arrived]
      .filter((id) => !expected.has(id))
      .map((id) => ({ what: `the mail ${id} tells of nothing that happened`, ...orderIn(id) })),
  ];
}

function idOf(tenant: string, name: string): string {
  return `<${name.replace(':', '.')}.${tenant}@example.com>`;
}

function orderIn(text: string): { orderId?: string } {
  const orderId = /ord_[0-9a-z]{26}/.exec(text)?.[0];
  return orderId === undefined ? {} : { orderId };
}
