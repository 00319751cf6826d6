import { invalid } from '../http/validation.example.js';
import type { Order } from './order.js';

/** What the API's description shows, through the same functions that make the answers. */
export const EXAMPLE_ORDER: Order = {
  id: 'ord_01kbn9sg6de5pv2m8w4f3tqz7x',
  status: 'pending',
  amount: 1700,
  amountRefunded: 0,
  currency: 'eur',
  items: [{ sku: 'tea-250', description: 'Green tea, 250 g', quantity: 2, unitAmount: 850 }],
  customer: { email: 'ada@example.com', name: 'Ada' },
  externalRef: 'basket-1001',
  shippingAddress: { line1: '12 Analytical Row', city: 'London', postalCode: 'N1 7AA', country: 'GB' },
  metadata: { campaign: 'spring' },
  version: 1,
  createdAt: '2026-01-31T12:00:00.000Z',
};

export const INVALID_ORDER = invalid('items[0].quantity', 'must not be less than 1');

export const ETAG = {
  description: 'The version of the order, for If-Match.',
  schema: { type: 'string', example: '"1"' },
} as const;
