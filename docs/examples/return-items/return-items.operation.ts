import { Injectable } from '@nestjs/common';
import {
  atomicPhase,
  foreignCall,
  operation,
  recoveryPoint,
  refusal,
  reply,
  type Point,
} from '../../../src/idempotency/operation.js';
import { Outbox } from '../../../src/outbox/outbox.js';
import { PaymentProvider, type RefundRequest } from '../../../src/payments/payment-provider.js';
import { newRefund, REFUND_FAILED, refundBody, refundRequest } from '../../../src/refunds/refund.js';
import { refundRejected } from '../../../src/refunds/refund.problems.js';
import { reserveRefund } from '../../../src/refunds/refund.store.js';
import { settleRefund } from '../../../src/refunds/refund-settlement.js';
import { itemsNotReturnable, orderNotPaid } from './return-items.problems.js';
import { insertReturn, lockPaidOrder, returnableOf } from './return-items.store.js';

export interface ReturnItemsInput {
  readonly orderId: string;
  /** Which line of the order, from 0. */
  readonly line: number;
  readonly quantity: number;
}

interface ReturnItemsPoints {
  started: Point<undefined>;
  refund_reserved: Point<{ readonly refundId: string }, RefundRequest>;
}

/** Items come back, and their price goes back. Two keys together never return more than was bought. */
@Injectable()
export class ReturnItems {
  constructor(
    private readonly payments: PaymentProvider,
    private readonly outbox: Outbox,
  ) {}

  readonly operation = operation<ReturnItemsInput, ReturnItemsPoints>('return_items', {
    started: atomicPhase(async (tx, run) => {
      const paid = await lockPaidOrder(tx, run.tenantId, run.input.orderId);
      if (!paid) throw orderNotPaid(run.input.orderId); // it may be yet: not stored, ask again
      const { left, amount } = await returnableOf(tx, run.tenantId, paid, run.input);
      if (left < run.input.quantity) return refusal(itemsNotReturnable(run.input, left));
      const refund = newRefund(paid.charge, amount, 'requested_by_customer');
      reserveRefund(tx, run.tenantId, paid, refund, run.derivedKey('refund'));
      insertReturn(tx, run.tenantId, refund.id, run.input);
      const request = refundRequest(run.tenantId, refund, paid.charge.providerId!);
      return recoveryPoint('refund_reserved', { refundId: refund.id }, request);
    }),

    refund_reserved: foreignCall({
      step: 'refund',
      call: (request, derivedKey) => this.payments.refund(request, derivedKey),
      find: (request) => this.payments.findRefund(request),
      retrieve: (request, providerId) => this.payments.retrieveRefund(request, providerId),
      notMade: REFUND_FAILED,
      record: async (tx, outcome, { tenantId, state: { refundId } }) => {
        const { refund } = await settleRefund(tx, this.outbox, tenantId, refundId, outcome);
        if (outcome.status === 'rejected' && refund.status === 'failed')
          return refusal(refundRejected(refund, outcome.failure));
        return reply(201, refundBody(refund), { Location: `/v1/refunds/${refundId}` });
      },
    }),
  });
}
