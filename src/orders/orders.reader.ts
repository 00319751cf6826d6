import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import { Database } from '../database/transaction.js';
import type { ListOrdersDto } from './list-orders.dto.js';
import { OrderEntity, toOrder } from './order.entity.js';
import { isOrderId, type Order } from './order.js';

export interface Page<Item> {
  readonly data: Item[];
  /** Pass it as `cursor` to get what comes next; null on the last page. */
  readonly nextCursor: string | null;
}

/** Reads a tenant's orders. Ids sort by time of creation, so the newest come first and a page never shifts. */
@Injectable()
export class OrdersReader {
  constructor(private readonly database: Database) {}

  async find(tenantId: string, id: string): Promise<Order | undefined> {
    if (!isOrderId(id)) return undefined;
    const order = await this.database.read(tenantId, (manager) =>
      manager.findOne(OrderEntity, { where: { tenantId, id }, relations: { items: true } }),
    );
    return order ? toOrder(order) : undefined;
  }

  async list(tenantId: string, { limit = 20, cursor, status }: ListOrdersDto): Promise<Page<Order>> {
    const found = await this.database.read(tenantId, (manager) =>
      manager.find(OrderEntity, {
        where: { tenantId, ...(cursor && { id: LessThan(cursor) }), ...(status && { status }) },
        relations: { items: true },
        order: { id: 'DESC' },
        take: limit + 1, // one more tells whether there is a next page
      }),
    );
    const data = found.slice(0, limit).map(toOrder);
    return { data, nextCursor: found.length > limit ? (data.at(-1)?.id ?? null) : null };
  }
}
