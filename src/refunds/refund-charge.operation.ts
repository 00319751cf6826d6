import { Injectable } from '@nestjs/common';
import type { Charge } from '../charges/charge.js';
import { chargeNotFound } from '../charges/charge.problems.js';
import { lockPayment } from '../charges/charge.store.js';
import { validationFailed } from '../http/problems.js';
import {
  atomicPhase,
  foreignCall,
  operation,
  recoveryPoint,
  refusal,
  reply,
} from '../idempotency/operation.js';
import type { Point, Reply } from '../idempotency/operation.js';
import { Outbox } from '../outbox/outbox.js';
import { amountProblem } from '../payments/currency.js';
import { PaymentProvider, type RefundRequest } from '../payments/payment-provider.js';
import { newRefund, REFUND_FAILED, refundBody, refundRequest } from './refund.js';
import type { Refund, RefundReason, SettledRefundOutcome } from './refund.js';
import {
  chargeAlreadyRefunded,
  chargeInProgress,
  chargeNotRefundable,
  refundAmountTooLarge,
  refundRejected,
} from './refund.problems.js';
import { reserveRefund } from './refund.store.js';
import { settleRefund } from './refund-settlement.js';

export interface RefundChargeInput {
  readonly chargeId: string;
  /** In the provider's smallest unit; without it, all that is left. */
  readonly amount?: number;
  readonly reason?: RefundReason;
}

interface RefundChargePoints {
  started: Point<undefined>;
  refund_reserved: Point<{ readonly refundId: string }, RefundRequest>;
}

/**
 * Gives money back. Keys do not guard against a second key: the amount is taken from what is left of the charge before
 * the provider is asked, and comes back where nothing is refunded.
 */
@Injectable()
export class RefundCharge {
  constructor(
    private readonly payments: PaymentProvider,
    private readonly outbox: Outbox,
  ) {}

  readonly operation = operation<RefundChargeInput, RefundChargePoints>('refund_charge', {
    started: atomicPhase(async (tx, run) => {
      const { chargeId, amount: asked, reason } = run.input;
      const payment = await lockPayment(tx, run.tenantId, chargeId);
      if (!payment) throw chargeNotFound(chargeId);
      const { charge } = payment;
      const refused = refusalOf(charge, asked);
      if (refused) return refused;

      const refund = newRefund(charge, asked ?? leftOf(charge), reason);
      reserveRefund(tx, run.tenantId, payment, refund, run.derivedKey('refund'));
      const request = refundRequest(run.tenantId, refund, charge.providerId!); // a charge that succeeded has one
      return recoveryPoint('refund_reserved', { refundId: refund.id }, request);
    }),

    refund_reserved: foreignCall({
      step: 'refund',
      call: (request, derivedKey) => this.payments.refund(request, derivedKey),
      find: (request) => this.payments.findRefund(request),
      retrieve: (request, providerId) => this.payments.retrieveRefund(request, providerId),
      notMade: REFUND_FAILED,
      record: async (tx, outcome, run) => {
        const { refundId } = run.state;
        const { refund } = await settleRefund(tx, this.outbox, run.tenantId, refundId, outcome);
        return answer(refund, outcome);
      },
    }),
  });
}

/** What no refund of the charge can come to: final, and stored under the key. @throws Problem, where it may yet */
function refusalOf(charge: Charge, asked: number | undefined): Reply | undefined {
  const wrong = asked !== undefined && amountProblem(asked, charge.currency);
  if (wrong) throw validationFailed([{ param: 'amount', message: `amount ${wrong}` }]);
  switch (charge.owedBack ? 'succeeded' : charge.status) {
    case 'declined':
    case 'rejected':
    case 'canceled':
      return refusal(chargeNotRefundable(charge));
    case 'succeeded':
      return leftOf(charge) < (asked ?? 1) ? refusal(tooMuch(charge)) : undefined;
    default:
      throw chargeInProgress(charge.id); // may still succeed: not stored, ask again
  }
}

function tooMuch(charge: Charge) {
  const left = leftOf(charge);
  return left === 0 ? chargeAlreadyRefunded(charge.id) : refundAmountTooLarge(charge, left);
}

function leftOf({ amount, amountRefunded }: Charge): number {
  return amount - amountRefunded;
}

/** The refund as it is by now: what the provider said first may have been overtaken. */
function answer(refund: Refund, outcome: SettledRefundOutcome): Reply {
  if (outcome.status === 'rejected' && refund.status === 'failed')
    return refusal(refundRejected(refund, outcome.failure));
  return reply(201, refundBody(refund), { Location: `/v1/refunds/${refund.id}` });
}
