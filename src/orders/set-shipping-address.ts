import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { Database } from '../database/transaction.js';
import type { SeenVersions } from '../http/if-match.js';
import { preconditionRequired } from '../http/problems.js';
import { expectChangeable, orderToChange } from './order-change.js';
import type { Address, Order } from './order.js';
import { saveShippingAddress } from './order.store.js';

/** Where the goods go, as long as nothing is paid. Two people may edit it: each must say what they have read. */
@Injectable()
export class SetShippingAddress {
  constructor(private readonly database: Database) {}

  /** @throws Problem 404, 409, 412, 428 */
  run(
    tenantId: string,
    id: string,
    shippingAddress: Address,
    seen: SeenVersions | undefined,
  ): Promise<Order> {
    return this.database.transaction(async (tx) => {
      const order = await orderToChange(tx, tenantId, id);
      if (seen === undefined) throw preconditionRequired();
      if (isDeepStrictEqual(order.shippingAddress, shippingAddress)) return order;
      await expectChangeable(tx, tenantId, order, seen);
      const changed = { ...order, shippingAddress };
      saveShippingAddress(tx, tenantId, changed);
      return { ...changed, version: order.version + 1 };
    });
  }
}
