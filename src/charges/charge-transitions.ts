import type { ChargeStatus } from './charge.js';

/**
 * Where a charge may go once its key is finished; every other move is refused, so that news which come late, or in
 * another order, take nothing back. Until then (`pending`, `unknown`, `review`) its key alone moves it.
 *
 *   requires_action ──▶ processing ──▶ succeeded
 *      └──────────────────┴──────────▶ declined, canceled
 *
 * Source: https://docs.stripe.com/payments/paymentintents/lifecycle.
 */
const MOVES: Readonly<Record<ChargeStatus, readonly ChargeStatus[]>> = {
  pending: [],
  unknown: [],
  review: [],
  requires_action: ['processing', 'succeeded', 'declined', 'canceled'],
  processing: ['succeeded', 'declined', 'canceled'],
  succeeded: [],
  declined: [],
  rejected: [],
  canceled: [],
};

export function mayMove(from: ChargeStatus, to: ChargeStatus): boolean {
  return MOVES[from].includes(to);
}

/** Whether both cannot be true, whichever came late: money that was taken here, and never there. */
export function contradicts(ours: ChargeStatus, theirs: ChargeStatus): boolean {
  return ours === 'succeeded' && theirs === 'canceled';
}
