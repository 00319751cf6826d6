import type { Tx } from '../database/transaction.js';
import {
  recoveryPoint,
  refusal,
  type RecoveryPoint,
  type Reply,
  type Run,
} from '../idempotency/operation.js';
import { recordPayment } from '../ledger/ledger.js';
import { chargeFailed, orderPaid, type ChargeData } from '../events/event-message.js';
import type { Order } from '../orders/order.js';
import { markPaid } from '../orders/order.store.js';
import type { Outbox } from '../outbox/outbox.js';
import type { ChargeRequest, PaymentProvider } from '../payments/payment-provider.js';
import { receiptFor } from '../receipts/receipt-message.js';
import {
  hasEnded,
  PAYMENT_FAILED,
  settled,
  type Charge,
  type ChargeStatus,
  type SettledOutcome,
} from './charge.js';
import { doubtCharge, saveSettled } from './charge.store.js';
import { cardDeclined, paymentCanceled, paymentRejected } from './charge.problems.js';

/** An order and the charge that pays it: what a payment knows at each recovery point. */
export interface Payment {
  readonly order: Order;
  readonly charge: Charge;
}

/**
 * The call that charges, and how it is settled where nobody knows what came of it: one step, and so one derived key,
 * whichever operation makes it, and at whichever recovery point.
 */
export function chargeCall(payments: PaymentProvider) {
  return {
    step: 'charge',
    call: (request: ChargeRequest, derivedKey: string) => payments.charge(request, derivedKey),
    find: (request: ChargeRequest) => payments.findCharge(request),
    retrieve: (request: ChargeRequest, providerId: string) => payments.retrieveCharge(request, providerId),
    notMade: PAYMENT_FAILED,
    doubt: async (tx: Tx, { tenantId, state: { charge } }: Run<unknown, Payment>, as: 'unknown' | 'review') =>
      doubtCharge(tx, tenantId, charge, as),
  };
}

/**
 * What the provider said, recorded. Paid: on to `charge_created`, which writes everything that follows from it at once.
 * Otherwise this is the end for this key: refused for good, or the customer's or the bank's turn (`answer`).
 */
export function recordOutcome(
  tx: Tx,
  outbox: Outbox,
  { tenantId, state: { order, charge: asked } }: Run<unknown, Payment>,
  outcome: SettledOutcome,
  answer: (payment: Payment) => Reply,
): Reply | RecoveryPoint<'charge_created', Payment, undefined> {
  const charge = settled(asked, outcome);
  if (charge.status === 'succeeded') return recoveryPoint('charge_created', { order, charge });
  saveUnpaid(tx, outbox, tenantId, charge);
  if (charge.status === 'declined') return refusal(cardDeclined(charge));
  if (charge.status === 'canceled') return refusal(paymentCanceled(charge));
  if (charge.status === 'rejected') return refusal(paymentRejected(charge));
  return answer({ order, charge });
}

/**
 * What the provider said, where that is not that it has the money. Ended, the charge is told of in the same transaction.
 * @param from what the charge may be until now; left out: what the provider has said nothing of yet
 */
export function saveUnpaid(
  tx: Tx,
  outbox: Outbox,
  tenantId: string,
  charge: Charge,
  from?: readonly ChargeStatus[],
): void {
  saveSettled(tx, tenantId, charge, from);
  if (!hasEnded(charge)) return;
  const { status, failure } = charge;
  const [code, declineCode] = [failure?.code ?? null, failure?.declineCode ?? null];
  outbox.add(tx, chargeFailed(tenantId, { ...dataOf(charge), status, code, declineCode }));
}

/**
 * The money is there. Order paid, charge succeeded, ledger row, staged receipt and event are one transaction, so that at
 * no moment one of them is true without the others.
 * @param from what the charge may be until now; left out: what the provider has said nothing of yet
 */
export function completePayment(
  tx: Tx,
  outbox: Outbox,
  tenantId: string,
  { order, charge }: Payment,
  from?: readonly ChargeStatus[],
): Payment {
  markPaid(tx, tenantId, order.id);
  saveSettled(tx, tenantId, charge, from);
  recordPayment(tx, { tenantId, orderId: order.id, amount: charge.amount, currency: charge.currency });
  outbox.add(
    tx,
    receiptFor(tenantId, {
      orderId: order.id,
      chargeId: charge.id,
      amount: charge.amount,
      currency: charge.currency,
      ...order.customer,
      items: order.items,
    }),
  );
  outbox.add(tx, orderPaid(tenantId, dataOf(charge)));
  return { order: { ...order, status: 'paid', version: order.version + 1 }, charge };
}

function dataOf({ orderId, id: chargeId, amount, currency }: Charge): ChargeData {
  return { orderId, chargeId, amount, currency };
}
