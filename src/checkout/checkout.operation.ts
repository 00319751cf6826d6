import { Injectable } from '@nestjs/common';
import { chargeBody, chargeRequest, newCharge, settled } from '../charges/charge.js';
import { insertFirstCharge } from '../charges/charge.store.js';
import { chargeCall, completePayment, recordOutcome, type Payment } from '../charges/payment.js';
import { Config } from '../config/config.js';
import {
  atomicPhase,
  foreignCall,
  operation,
  recoveryPoint,
  refusal,
  reply,
} from '../idempotency/operation.js';
import type { Phases, Point, Reply, WhenAbandoned } from '../idempotency/operation.js';
import { newOrder, orderBody, type OrderInput } from '../orders/order.js';
import { externalRefTaken } from '../orders/order.problems.js';
import { insertOrder } from '../orders/order.store.js';
import { Outbox } from '../outbox/outbox.js';
import { PaymentProvider, type ChargeRequest } from '../payments/payment-provider.js';
import { voidCheckout } from './void-checkout.js';

export interface CheckoutInput extends OrderInput {
  /** A token such as `pm_card_visa`. */
  readonly paymentMethod: string;
}

/** The recovery points, and what is kept at each. */
interface CheckoutPoints {
  started: Point<undefined>;
  order_created: Point<Payment, ChargeRequest>;
  charge_created: Point<Payment>;
  voiding: Point<Payment, ChargeRequest>;
  outcome_voided: Point<Payment>;
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
 *
 * With `ABANDONED_CHECKOUTS=void` one whose client has gone for good is undone instead:
 *
 *   at voiding          settle the call that may have been made, under its own derived key      ─▶ outcome_voided
 *   at outcome_voided   order canceled, the refund of what was taken begun: all or nothing      ─▶ the reply, a 409
 */
@Injectable()
export class Checkout {
  constructor(
    private readonly payments: PaymentProvider,
    private readonly outbox: Outbox,
    private readonly config: Config,
  ) {}

  private readonly phases: Phases<CheckoutInput, CheckoutPoints> = {
    started: atomicPhase(async (tx, run) => {
      const order = newOrder(run.input);
      const taken = await insertOrder(tx, run.tenantId, order);
      if (taken) return refusal(externalRefTaken(taken));

      const charge = newCharge(order);
      insertFirstCharge(tx, run, charge);
      const { paymentReturnUrl } = this.config;
      const request = chargeRequest(run.tenantId, charge, run.input.paymentMethod, paymentReturnUrl);
      return recoveryPoint('order_created', { order, charge }, request);
    }),

    order_created: foreignCall({
      ...chargeCall(this.payments),
      record: async (tx, outcome, run) => recordOutcome(tx, this.outbox, run, outcome, checkedOut),
    }),

    charge_created: atomicPhase(async (tx, run) =>
      checkedOut(completePayment(tx, this.outbox, run.tenantId, run.state)),
    ),

    voiding: foreignCall({
      ...chargeCall(this.payments),
      record: async (_tx, outcome, { state: { order, charge } }) =>
        recoveryPoint('outcome_voided', { order, charge: settled(charge, outcome) }),
    }),

    outcome_voided: atomicPhase(async (tx, run) =>
      refusal(voidCheckout(tx, this.outbox, run.tenantId, run.state)),
    ),
  };

  readonly operation = operation(
    'checkout',
    this.phases,
    this.config.abandonedCheckouts === 'void' ? VOIDED : {},
  );
}

/** A request that was surely never sent needs no settling: a charge would be made only to be refunded. */
const VOIDED: WhenAbandoned<CheckoutPoints> = {
  order_created: ({ state, request, maybeSent }) =>
    maybeSent ? recoveryPoint('voiding', state, request) : recoveryPoint('outcome_voided', state),
  charge_created: ({ state }) => recoveryPoint('outcome_voided', state),
};

function checkedOut({ order, charge }: Payment): Reply {
  return reply(
    201,
    { order: orderBody(order), charge: chargeBody(charge) },
    { Location: `/v1/orders/${order.id}` },
  );
}
