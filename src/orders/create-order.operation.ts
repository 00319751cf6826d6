import { Injectable } from '@nestjs/common';
import { atomicPhase, operation, refusal, reply, type Point } from '../idempotency/operation.js';
import { newOrder, orderBody, orderHeaders, type OrderInput } from './order.js';
import { externalRefTaken } from './order.problems.js';
import { insertOrder } from './order.store.js';

interface CreateOrderPoints {
  started: Point<undefined>;
}

/** The smallest operation: one atomic phase, nothing outside the database. */
@Injectable()
export class CreateOrder {
  readonly operation = operation<OrderInput, CreateOrderPoints>('create_order', {
    started: atomicPhase(async (tx, { tenantId, input }) => {
      const order = newOrder(input);
      const taken = await insertOrder(tx, tenantId, order);
      if (taken) return refusal(externalRefTaken(taken));
      return reply(201, orderBody(order), orderHeaders(order));
    }),
  });
}
