import { Injectable } from '@nestjs/common';
import { chargeRequest, newCharge } from '../../../src/charges/charge.js';
import { insertCharge } from '../../../src/charges/charge.store.js';
import { chargeCall, completePayment, recordOutcome, type Payment } from '../../../src/charges/payment.js';
import { Config } from '../../../src/config/config.js';
import type { Tx } from '../../../src/database/transaction.js';
import { beginOperation } from '../../../src/idempotency/begin-operation.js';
import {
  atomicPhase,
  foreignCall,
  operation,
  recoveryPoint,
  refusal,
  reply,
  type Point,
} from '../../../src/idempotency/operation.js';
import { orderCanceled, orderNotFound, orderPaymentInProgress } from '../../../src/orders/order.problems.js';
import { Outbox } from '../../../src/outbox/outbox.js';
import { PaymentProvider, type ChargeRequest } from '../../../src/payments/payment-provider.js';
import { alreadyShipped, outOfStock, paymentNotComplete } from './ship-order.problems.js';
import { insertShipment, lockOrderToShip, moveShipment } from './shipment.store.js';
import { Warehouse, type Reservation } from './warehouse.js';

export interface ShipOrderInput {
  readonly orderId: string;
  /** A token such as `pm_card_visa`; not used where the order is paid already. */
  readonly paymentMethod: string;
}

interface ShipOrderPoints {
  started: Point<undefined>;
  charge_intended: Point<Payment, ChargeRequest>;
  charge_created: Point<Payment>;
  order_paid: Point<Payment, Reservation>;
}

/**
 * Pays an order, and has its goods reserved in a second system.
 *
 *   at started           write the intent to charge, freeze the charge               ─▶ charge_intended
 *   at charge_intended   charge                                                      ─▶ charge_created
 *   at charge_created    order paid, ledger, receipt; freeze the reservation         ─▶ order_paid
 *   at order_paid        reserve; refused for good, the refund of the charge begins  ─▶ the reply
 *
 * An order that is paid already, as its customer had to go to their bank first, goes from the first to the last.
 */
@Injectable()
export class ShipOrder {
  constructor(
    private readonly payments: PaymentProvider,
    private readonly warehouse: Warehouse,
    private readonly outbox: Outbox,
    private readonly config: Config,
  ) {}

  readonly operation = operation<ShipOrderInput, ShipOrderPoints>('ship_order', {
    started: atomicPhase(async (tx, run) => {
      const { orderId, paymentMethod } = run.input;
      const { order, paidBy } = await lockOrderToShip(tx, run.tenantId, orderId);
      if (!order) throw orderNotFound(orderId);
      if (order.status === 'canceled') return refusal(orderCanceled(orderId));
      if (paidBy) return toWarehouse(tx, run.tenantId, { order, charge: paidBy });

      const charge = newCharge(order);
      if ((await insertCharge(tx, run, charge)) === 0) throw orderPaymentInProgress(orderId);
      const request = chargeRequest(run.tenantId, charge, paymentMethod, this.config.paymentReturnUrl);
      return recoveryPoint('charge_intended', { order, charge }, request);
    }),

    charge_intended: foreignCall({
      ...chargeCall(this.payments),
      record: async (tx, outcome, run) =>
        recordOutcome(tx, this.outbox, run, outcome, ({ charge }) => refusal(paymentNotComplete(charge))),
    }),

    charge_created: atomicPhase(async (tx, run) =>
      toWarehouse(tx, run.tenantId, completePayment(tx, this.outbox, run.tenantId, run.state)),
    ),

    order_paid: foreignCall({
      step: 'reserve',
      call: (request, derivedKey) => this.warehouse.reserve(request, derivedKey),
      find: (request) => this.warehouse.find(request),
      record: async (tx, outcome, { tenantId, state: { order, charge } }) => {
        moveShipment(tx, tenantId, order.id, outcome);
        if (outcome.status === 'reserved') {
          const { status, reservationId } = outcome;
          return reply(201, { orderId: order.id, chargeId: charge.id, status, reservationId });
        }
        giveBack(tx, tenantId, charge.id);
        return refusal(outOfStock(order.id, outcome.reason));
      },
    }),
  });
}

/** One shipment for each order: another key may ask for it, and is told so. */
async function toWarehouse(tx: Tx, tenantId: string, payment: Payment) {
  const { id: orderId, items } = payment.order;
  if ((await insertShipment(tx, tenantId, orderId)) === 0) return refusal(alreadyShipped(orderId));
  const wanted = items.map(({ sku, quantity }) => ({ sku, quantity }));
  return recoveryPoint('order_paid', payment, { orderId, items: wanted });
}

/** Undoes the first call, as an operation of the service's own: it begins with this commit, and the completer runs it. */
function giveBack(tx: Tx, tenantId: string, chargeId: string): void {
  beginOperation(tx, { tenantId, operation: 'refund_charge', about: chargeId, input: { chargeId } });
}
