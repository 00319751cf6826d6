import type { Held } from './held.js';

/** Something that is under way, and would be torn or would bring the data back. */
export interface Obstacle {
  readonly kind: 'order' | 'charge' | 'refund' | 'key' | 'mail' | 'event' | 'review';
  /** Of a key the id of its row. */
  readonly id: string;
  readonly status: string;
  /** What ends it. */
  readonly waitFor: string;
}

export function obstaclesOf(held: Held): Obstacle[] {
  const { orders, charges, refunds, keys, mails, events, reviews } = held;
  return [
    ...orders
      .filter(({ status }) => status === 'pending')
      .map(obstacle('order', 'its payment, or POST /v1/orders/{id}/cancel')),
    ...charges
      .filter(({ status }) => OPEN_CHARGE.includes(status))
      .map(obstacle('charge', 'the provider, or a decision about its review')),
    ...refunds.filter(({ status }) => OPEN_REFUND.includes(status)).map(obstacle('refund', 'the provider')),
    ...keys.filter(({ status }) => status !== 'finished').map(obstacle('key', 'its reply, or a decision')),
    ...mails.filter(({ status }) => status === 'due').map(obstacle('mail', 'its delivery')),
    ...events.filter(({ status }) => status === 'due').map(obstacle('event', 'the worker, which applies it')),
    ...reviews.filter(({ isOpen }) => isOpen).map(({ id }) => openReview({ id, status: 'open' })),
  ];
}

const OPEN_CHARGE: readonly string[] = ['pending', 'unknown', 'requires_action', 'processing', 'review'];

const OPEN_REFUND: readonly string[] = ['pending', 'requires_action'];

function obstacle(kind: Obstacle['kind'], waitFor: string) {
  return ({ id, status }: { readonly id: string; readonly status: string }): Obstacle => ({
    kind,
    id,
    status,
    waitFor,
  });
}

const openReview = obstacle('review', 'a decision');
