import { EXAMPLE_CHARGE } from '../charges/charge.example.js';
import { chargeBody } from '../charges/charge.js';
import type { ErasureBody } from '../erasure/erasure-body.dto.js';
import type { Obstacle } from '../erasure/obstacles.js';
import type { DecidedReview } from '../idempotency/review.store.js';
import type { MessageState } from '../outbox/dead-letters.js';
import type { ReviewBody } from './operator-bodies.dto.js';
import { operatorsOnly, operatorTokenNeeded } from './operator.problems.js';

/** What the API's description shows of a question that waits for a person. */
export const EXAMPLE_REVIEW: ReviewBody = {
  id: 'rev_01kbna7q2yem4t8x6p0d5r3w9c',
  tenantId: 'acme',
  subject: { kind: 'idempotency_key', id: 'idem_01kbn9sg6cf8vaj2k7w4t1q5zd' },
  reason: 'tries_used_up',
  evidence: { derivedKey: 'prod:idem_01kbn9sg6cf8vaj2k7w4t1q5zd:charge' },
  openedAt: new Date('2026-01-31T18:00:00.000Z'),
  decision: null,
  providerId: null,
  note: null,
  decidedBy: null,
  decidedAt: null,
  key: {
    status: 'review',
    recoveryPoint: 'order_created',
    attempts: 21,
    lastError: 'outcome_unknown',
    createdAt: new Date('2026-01-31T12:00:00.000Z'),
  },
  charge: chargeBody({ ...EXAMPLE_CHARGE, status: 'review' }),
};

export const EXAMPLE_DECISION: DecidedReview = {
  tenantId: EXAMPLE_REVIEW.tenantId,
  id: EXAMPLE_REVIEW.id,
  subjectKind: EXAMPLE_REVIEW.subject.kind,
  subjectId: EXAMPLE_REVIEW.subject.id,
  key: null,
  decision: 'mark_succeeded',
  providerId: 'pi_3MtwBwLkdIwHu7ix28a3tqPa',
  note: 'Seen in the dashboard.',
  decidedBy: 'op_01234567',
  decidedAt: new Date('2026-02-01T09:00:00.000Z'),
};

/** A message that was given up. */
export const EXAMPLE_MESSAGE: MessageState = {
  id: 'msg_01kbna9d5wfz1v7h3k6j8m2x4n',
  tenantId: 'acme',
  topic: 'receipt',
  dedupeKey: `receipt:${EXAMPLE_CHARGE.orderId}`,
  attempts: 20,
  lastError: '550 mailbox unavailable',
  createdAt: new Date('2026-01-31T12:00:01.000Z'),
  dueAt: null,
  sentAt: null,
  deadAt: new Date('2026-02-01T12:00:00.000Z'),
};

/** A paid order of a customer who asked to be erased, before and after. */
export const EXAMPLE_PREVIEW: ErasureBody = {
  tenantId: 'acme',
  orders: [
    {
      id: EXAMPLE_CHARGE.orderId,
      status: 'paid',
      createdAt: new Date('2026-01-31T12:00:00.000Z'),
      keepsExternalRef: true,
      erasedAt: null,
      erasedBy: null,
    },
  ],
  replies: 1,
  mails: 1,
  deadLetters: 0,
  charges: 0,
  events: 0,
  reviews: 0,
  notesToRead: [],
  obstacles: [],
};

export const EXAMPLE_ERASURE: ErasureBody = {
  ...EXAMPLE_PREVIEW,
  orders: EXAMPLE_PREVIEW.orders.map((order) => ({
    ...order,
    erasedAt: new Date('2026-02-02T09:00:00.000Z'),
    erasedBy: 'operator 01234567',
  })),
};

export const EXAMPLE_OBSTACLE: Obstacle = {
  kind: 'mail',
  id: EXAMPLE_MESSAGE.id,
  status: 'due',
  waitFor: 'its delivery',
};

/** What whoever is no operator is told. */
export const OPERATORS_ONLY = [operatorTokenNeeded(), operatorsOnly()];
