import type { RefundStatus } from './refund.js';

/**
 * Where a refund may go from each status; every other move is refused. `failed` and `canceled` are the end.
 *
 *   pending ◀──▶ requires_action
 *      ├───────────────┼──▶ succeeded ──▶ failed   the bank sends it back, days later
 *      └───────────────┴──▶ failed, canceled
 *
 * Source: https://docs.stripe.com/refunds (a refund that needs the customer's bank details is pending once it has them).
 */
const MOVES: Readonly<Record<RefundStatus, readonly RefundStatus[]>> = {
  pending: ['requires_action', 'succeeded', 'failed', 'canceled'],
  requires_action: ['pending', 'succeeded', 'failed', 'canceled'],
  succeeded: ['failed'],
  failed: [],
  canceled: [],
};

export function mayMove(from: RefundStatus, to: RefundStatus): boolean {
  return MOVES[from].includes(to);
}
