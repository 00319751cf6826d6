import { Injectable } from '@nestjs/common';
import { Database } from '../database/transaction.js';
import type { SeenVersions } from '../http/if-match.js';
import { expectChangeable, orderToChange } from './order-change.js';
import type { Order } from './order.js';
import { markCanceled } from './order.store.js';

/** Canceled twice is canceled once. */
@Injectable()
export class CancelOrder {
  constructor(private readonly database: Database) {}

  /** @throws Problem 404, 409, 412 */
  run(tenantId: string, id: string, seen?: SeenVersions): Promise<Order> {
    return this.database.transaction(async (tx) => {
      const order = await orderToChange(tx, tenantId, id);
      if (order.status === 'canceled') return order;
      await expectChangeable(tx, tenantId, order, seen);
      markCanceled(tx, tenantId, order);
      return { ...order, status: 'canceled', version: order.version + 1 };
    });
  }
}
