import { Injectable, Logger } from '@nestjs/common';
import { statement } from '../database/statement.js';
import { Database, type Tx } from '../database/transaction.js';
import { Sealing } from '../idempotency/sealing.js';
import { isOrderId } from '../orders/order.js';
import { orderNotFound } from '../orders/order.problems.js';
import { erasureBlocked, erasureOvertaken, tenantNotFound } from './erasure.problems.js';
import { eraseCharges } from './held-charges.js';
import { eraseEvents, eventTells } from './held-events.js';
import { eraseReplies } from './held-keys.js';
import { eraseMails } from './held-mails.js';
import { eraseOrders, readOrders } from './held-orders.js';
import { eraseReviews, reviewTells } from './held-reviews.js';
import { heldOf, type Held } from './held.js';
import { obstaclesOf, type Obstacle } from './obstacles.js';
import type { Subject } from './subject.js';

/** What is held, less what has been erased already. */
export interface Erasure extends Held {
  readonly obstacles: readonly Obstacle[];
}

/**
 * Erases a person: what names them goes, and what was bought, charged and given back stays, with the ids and guards
 * that keep it from being bought, charged or given back again. Twice is once.
 */
@Injectable()
export class Erasures {
  private readonly logger = new Logger(Erasures.name);

  constructor(
    private readonly database: Database,
    private readonly sealing: Sealing,
  ) {}

  /** What would be erased, and what stands in the way. Changes nothing. @throws Problem 404; 503, where a key does not open */
  async preview(subject: Subject): Promise<Erasure> {
    await this.expectKnown(subject);
    const held = await heldOf(this.database, this.sealing, subject);
    if ('orderId' in subject.who && held.orders.length === 0) throw orderNotFound(subject.who.orderId);
    return { ...held, obstacles: obstaclesOf(held) };
  }

  /**
   * All or nothing. What is read first is read without a lock, however long it takes; it is erased only if it is still
   * so. @returns what was erased @throws Problem 404, 409
   */
  async erase(subject: Subject, by: string): Promise<Erasure> {
    const erasure = await this.preview(subject);
    if (erasure.obstacles.length > 0) throw erasureBlocked(erasure.obstacles);
    await this.database.transaction((tx) => eraseHeld(tx, this.sealing, subject, erasure, by));
    const ids = erasure.orders.map(({ id }) => id);
    this.logger.log(`${by} erased the customer of ${ids.join(', ') || 'no order'} of ${subject.tenantId}`);
    return { ...erasure, orders: await readOrders(this.database, subject.tenantId, ids) };
  }

  /** A misspelt tenant must not look like one that holds nothing. */
  private async expectKnown({ tenantId, who }: Subject): Promise<void> {
    const tenants = await this.database.query(TENANT, [tenantId]);
    if (tenants.length === 0) throw tenantNotFound(tenantId);
    if ('orderId' in who && !isOrderId(who.orderId)) throw orderNotFound(who.orderId);
  }
}

/** @throws Problem 409, and nothing is erased, where a row is not as it was read */
async function eraseHeld(
  tx: Tx,
  sealing: Sealing,
  { tenantId, also }: Subject,
  held: Held,
  by: string,
): Promise<void> {
  const { orders, charges, keys, mails } = held;
  const events = held.events.filter(eventTells);
  const reviews = held.reviews.filter(reviewTells);
  const counts = [
    [orders, await eraseOrders(tx, tenantId, orders, { also, by })],
    [keys, await eraseReplies(tx, sealing, tenantId, keys)],
    [mails, await eraseMails(tx, tenantId, mails)],
    [events, await eraseEvents(tx, tenantId, events)],
    [reviews, await eraseReviews(tx, tenantId, reviews)],
  ] as const;
  eraseCharges(tx, tenantId, charges);
  if (counts.some(([rows, changed]) => changed !== rows.length)) throw erasureOvertaken();
}

const TENANT = statement('tenant_exists', 'SELECT 1 FROM tenants WHERE id = $1');
