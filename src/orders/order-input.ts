import { validationFailed } from '../http/problems.js';
import { amountProblem } from '../payments/currency.js';
import type { CreateOrderDto } from './create-order.dto.js';
import type { OrderInput } from './order.js';

/** What is kept of a valid body: plain values, and their sum. @throws Problem 400, where the sum cannot be charged */
export function toOrderInput(body: CreateOrderDto): OrderInput {
  const { currency, items, customer, externalRef, shippingAddress, metadata } = body;
  const amount = items.reduce((sum, { quantity, unitAmount }) => sum + quantity * unitAmount, 0);
  const problem = amountProblem(amount, currency);
  if (problem)
    throw validationFailed([
      { param: 'amount', message: `amount, the sum of the items (${amount}), ${problem}` },
    ]);
  return {
    currency,
    amount,
    items: items.map((item) => ({ ...item })),
    customer: { ...customer },
    ...(externalRef !== undefined && { externalRef }),
    ...(shippingAddress && { shippingAddress: { ...shippingAddress } }),
    metadata: { ...metadata },
  };
}
