import { EXAMPLE_ORDER } from '../orders/order.example.js';
import { outcomeUnknown, providerUnavailable } from '../idempotency/idempotency.problems.js';
import { PAYMENT_FAILED, settled, type Charge } from './charge.js';
import { cardDeclined, paymentCanceled, paymentRejected } from './charge.problems.js';

/** What the API's description shows, through the same functions that make the answers. */
export const EXAMPLE_CHARGE: Charge = {
  id: 'ch_01kbn9sg6pfzr8d2q5v1m7t3ya',
  orderId: EXAMPLE_ORDER.id,
  status: 'succeeded',
  amount: EXAMPLE_ORDER.amount,
  amountRefunded: 0,
  owedBack: false,
  currency: EXAMPLE_ORDER.currency,
  providerId: 'pi_3MtwBwLkdIwHu7ix28a3tqPa',
  createdAt: '2026-01-31T12:00:00.000Z',
};

/** How a payment may fail to come about. */
export const PAYMENT_PROBLEMS = [
  cardDeclined({
    ...EXAMPLE_CHARGE,
    failure: {
      code: 'card_declined',
      declineCode: 'insufficient_funds',
      message: 'Your card has insufficient funds.',
    },
  }),
  paymentCanceled(EXAMPLE_CHARGE),
  paymentRejected({
    ...EXAMPLE_CHARGE,
    failure: { code: 'resource_missing', message: 'No such payment method.' },
  }),
  paymentRejected(settled(EXAMPLE_CHARGE, PAYMENT_FAILED)),
  outcomeUnknown(),
  providerUnavailable(),
];
