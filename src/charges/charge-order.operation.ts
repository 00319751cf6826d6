import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import {
  atomicPhase,
  foreignCall,
  operation,
  recoveryPoint,
  refusal,
  reply,
} from '../idempotency/operation.js';
import type { Point, Reply } from '../idempotency/operation.js';
import type { Order } from '../orders/order.js';
import {
  orderAlreadyPaid,
  orderCanceled,
  orderNotFound,
  orderPaymentInProgress,
} from '../orders/order.problems.js';
import { lockOrder } from '../orders/order.store.js';
import { Outbox } from '../outbox/outbox.js';
import { PaymentProvider, type ChargeRequest } from '../payments/payment-provider.js';
import { chargeBody, chargeRequest, newCharge } from './charge.js';
import { insertCharge } from './charge.store.js';
import { chargeCall, completePayment, recordOutcome, type Payment } from './payment.js';

export interface ChargeOrderInput {
  readonly orderId: string;
  /** A token such as `pm_card_visa`. */
  readonly paymentMethod: string;
}

interface ChargeOrderPoints {
  started: Point<undefined>;
  charge_intended: Point<Payment, ChargeRequest>;
  charge_created: Point<Payment>;
}

/** Pays an order that is there. Keys do not guard against a second key: the one live charge per order does. */
@Injectable()
export class ChargeOrder {
  constructor(
    private readonly payments: PaymentProvider,
    private readonly outbox: Outbox,
    private readonly config: Config,
  ) {}

  readonly operation = operation<ChargeOrderInput, ChargeOrderPoints>('charge_order', {
    started: atomicPhase(async (tx, run) => {
      const { orderId, paymentMethod } = run.input;
      const order = await lockOrder(tx, run.tenantId, orderId);
      if (!order) throw orderNotFound(orderId, 'orderId');
      const refused = refusalOf(order);
      if (refused) return refused;

      const charge = newCharge(order);
      const inserted = await insertCharge(tx, run, charge);
      if (inserted === 0) throw orderPaymentInProgress(orderId); // may end in a decline: not stored, ask again
      const request = chargeRequest(run.tenantId, charge, paymentMethod, this.config.paymentReturnUrl);
      return recoveryPoint('charge_intended', { order, charge }, request);
    }),

    charge_intended: foreignCall({
      ...chargeCall(this.payments),
      record: async (tx, outcome, run) => recordOutcome(tx, this.outbox, run, outcome, charged),
    }),

    charge_created: atomicPhase(async (tx, run) =>
      charged(completePayment(tx, this.outbox, run.tenantId, run.state)),
    ),
  });
}

/** An order that no charge can pay any more: final, and stored under the key. */
function refusalOf({ id, status }: Order): Reply | undefined {
  switch (status) {
    case 'paid':
      return refusal(orderAlreadyPaid(id));
    case 'canceled':
      return refusal(orderCanceled(id));
    case 'pending':
      return undefined;
  }
}

function charged({ charge }: Payment): Reply {
  return reply(201, chargeBody(charge), { Location: `/v1/charges/${charge.id}` });
}
