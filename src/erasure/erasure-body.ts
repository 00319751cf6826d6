import type { ErasureBody } from './erasure-body.dto.js';
import type { Erasure } from './erasures.js';
import { eventTells } from './held-events.js';
import { reviewTells } from './held-reviews.js';

/** What is held as operators see it: ids and numbers. */
export function erasureBody(tenantId: string, erasure: Erasure): ErasureBody {
  const { orders, charges, keys, mails, events, reviews, obstacles } = erasure;
  return {
    tenantId,
    orders: orders.map(({ id, status, createdAt, hasExternalRef, erasedAt, erasedBy }) => ({
      id,
      status,
      createdAt,
      keepsExternalRef: hasExternalRef,
      erasedAt,
      erasedBy,
    })),
    replies: keys.filter(({ status }) => status === 'finished').length,
    mails: mails.filter(({ status }) => status === 'sent').length,
    deadLetters: mails.filter(({ status }) => status === 'dead').length,
    charges: charges.filter(({ tells }) => tells).length,
    events: events.filter(eventTells).length,
    reviews: reviews.filter(reviewTells).length,
    notesToRead: reviews.filter(({ hasNote, namesAddress }) => hasNote && !namesAddress).map(({ id }) => id),
    obstacles: [...obstacles],
  };
}
