import type { Database } from '../database/transaction.js';
import type { Sealing } from '../idempotency/sealing.js';
import { chargesOf, refundsOf, type HeldCharge, type HeldRefund } from './held-charges.js';
import { eventsOf, type HeldEvent } from './held-events.js';
import { keysOf, type HeldKey } from './held-keys.js';
import { mailsOf, type HeldMail } from './held-mails.js';
import { ordersOf, type HeldOrder } from './held-orders.js';
import { reviewsOf, type HeldReview } from './held-reviews.js';
import { addressOf, type Subject } from './subject.js';

/** Every row that holds something of a person, or that is at work for them. */
export interface Held {
  readonly orders: readonly HeldOrder[];
  readonly charges: readonly HeldCharge[];
  readonly refunds: readonly HeldRefund[];
  readonly keys: readonly HeldKey[];
  readonly mails: readonly HeldMail[];
  readonly events: readonly HeldEvent[];
  readonly reviews: readonly HeldReview[];
}

/** Table by table, as docs/personal-data.md lists them. Nothing is locked meanwhile. */
export async function heldOf(database: Database, sealing: Sealing, subject: Subject): Promise<Held> {
  const { tenantId } = subject;
  const address = addressOf(subject);
  const orders = await ordersOf(database, subject);
  const orderIds = idsOf(orders);
  const charges = await chargesOf(database, tenantId, orderIds);
  const chargeIds = idsOf(charges);
  const refunds = await refundsOf(database, tenantId, chargeIds);
  const keys = await keysOf(database, sealing, tenantId, { orderIds, chargeIds, address });
  const mails = await mailsOf(database, tenantId, orderIds, address);
  const events = await eventsOf(database, tenantId, chargeIds, idsOf(refunds));
  const subjects = [...chargeIds, ...idsOf(refunds), ...idsOf(keys), ...idsOf(events)];
  const addresses = [...orders.map((order) => order.address), ...(address === null ? [] : [address])];
  const reviews = await reviewsOf(database, tenantId, subjects, address, addresses);
  return { orders, charges, refunds, keys, mails, events, reviews };
}

function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id);
}
