import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { Database, type Tx } from '../database/transaction.js';
import type { SeenVersions } from '../http/if-match.js';
import { preconditionFailed } from '../http/problems.js';
import { expectChangeable, orderToChange } from './order-change.js';
import { newOrder, orderBody, type Order, type OrderInput } from './order.js';
import { insertOrder, replaceOrder } from './order.store.js';

/** An order under the client's own name for it: made by the first PUT, and as the last one says. */
@Injectable()
export class PutOrder {
  constructor(private readonly database: Database) {}

  /** @throws Problem 409, 412 */
  run(
    tenantId: string,
    input: OrderInput & { readonly externalRef: string },
    seen?: SeenVersions,
  ): Promise<{ created: boolean; order: Order }> {
    return this.database.transaction(async (tx) => {
      const order = newOrder(input);
      const taken = await insertOrder(tx, tenantId, order); // whoever comes second waits here for the first
      if (taken) return { created: false, order: await replace(tx, tenantId, taken.id, input, seen) };
      if (seen !== undefined) throw preconditionFailed(); // a version was seen, and there is none: undone with the transaction
      return { created: true, order };
    });
  }
}

async function replace(
  tx: Tx,
  tenantId: string,
  id: string,
  input: OrderInput,
  seen: SeenVersions | undefined,
): Promise<Order> {
  const order = await orderToChange(tx, tenantId, id);
  const { id: _id, status, amountRefunded, version, createdAt } = order;
  const changed: Order = { ...input, id, status, amountRefunded, version, createdAt };
  if (isDeepStrictEqual(orderBody(order), orderBody(changed))) return order;
  await expectChangeable(tx, tenantId, order, seen);
  replaceOrder(tx, tenantId, changed);
  return { ...changed, version: version + 1 };
}
