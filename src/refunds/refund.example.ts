import { EXAMPLE_CHARGE } from '../charges/charge.example.js';
import type { Refund } from './refund.js';

/** What the API's description shows, through the same functions that make the answers. */
export const EXAMPLE_REFUND: Refund = {
  id: 're_01kbna2x4hj6k0w9c3e8n5s1zb',
  chargeId: EXAMPLE_CHARGE.id,
  status: 'succeeded',
  amount: 850,
  currency: EXAMPLE_CHARGE.currency,
  reason: 'requested_by_customer',
  createdAt: '2026-02-02T09:30:00.000Z',
};
