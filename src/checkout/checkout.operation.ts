import { Injectable } from '@nestjs/common';
import { chargeBody, chargeRequest, newCharge } from '../charges/charge.js';
import { insertFirstCharge } from '../charges/charge.store.js';
import { completePayment, inDoubt, recordOutcome, type Payment } from '../charges/payment.js';
import {
  atomicPhase,
  foreignCall,
  operation,
  recoveryPoint,
  refusal,
  reply,
} from '../idempotency/operation.js';
import type { Point, Reply } from '../idempotency/operation.js';
import { newOrder, orderBody, type OrderInput } from '../orders/order.js';
import { externalRefTaken } from '../orders/order.problems.js';
import { insertOrder } from '../orders/order.store.js';
import { Outbox } from '../outbox/outbox.js';
import { PaymentProvider, type ChargeRequest } from '../payments/payment-provider.js';

export interface CheckoutInput extends OrderInput {
  /** A token such as `pm_card_visa`. */
  readonly paymentMethod: string;
}

/** The recovery points, and what is kept at each. */
interface CheckoutPoints {
  started: Point<undefined>;
  order_created: Point<Payment, ChargeRequest>;
  charge_created: Point<Payment>;
}

/**
 * ★ Start reading here: the whole story of a checkout.
 *
 *   at started          write the order and the intent to charge it, freeze the request   ─▶ order_created
 *   at order_created    call the provider, note what it said                              ─▶ charge_created, or the reply
 *   at charge_created   order paid, charge settled, ledger, receipt: all or nothing        ─▶ the reply
 *
 * Each arrow is committed before the next begins. Whoever comes back with the key, or finds it abandoned, continues
 * at the last recovery point; and the provider sees the same request under the same derived key, however often.
 */
@Injectable()
export class Checkout {
  constructor(
    private readonly payments: PaymentProvider,
    private readonly outbox: Outbox,
  ) {}

  readonly operation = operation<CheckoutInput, CheckoutPoints>('checkout', {
    started: atomicPhase(async (tx, run) => {
      const order = newOrder(run.input);
      const taken = await insertOrder(tx, run.tenantId, order);
      if (taken) return refusal(externalRefTaken(taken));

      const charge = newCharge(order);
      insertFirstCharge(tx, run, charge);
      const request = chargeRequest(run.tenantId, charge, run.input.paymentMethod);
      return recoveryPoint('order_created', { order, charge }, request);
    }),

    order_created: foreignCall({
      step: 'charge',
      call: (request, derivedKey) => this.payments.charge(request, derivedKey),
      ...inDoubt(this.payments),
      record: async (tx, outcome, run) => recordOutcome(tx, run, outcome, checkedOut),
    }),

    charge_created: atomicPhase(async (tx, run) =>
      checkedOut(completePayment(tx, this.outbox, run.tenantId, run.state)),
    ),
  });
}

function checkedOut({ order, charge }: Payment): Reply {
  return reply(
    201,
    { order: orderBody(order), charge: chargeBody(charge) },
    { Location: `/v1/orders/${order.id}` },
  );
}
