import { typeidUnboxed } from 'typeid-js';
import type { OrderBody } from './order-body.dto.js';

export type OrderStatus = 'pending' | 'paid' | 'canceled';

export interface OrderItem {
  readonly sku: string;
  readonly description?: string;
  readonly quantity: number;
  readonly unitAmount: number;
}

export interface Address {
  readonly line1: string;
  readonly line2?: string;
  readonly city: string;
  readonly postalCode: string;
  readonly country: string;
}

/** What a client asked for, validated; stored with the key, so JSON values only. */
export interface OrderInput {
  readonly currency: string;
  /** Sum of the items, in the provider's smallest unit. */
  readonly amount: number;
  readonly items: readonly OrderItem[];
  readonly customer: { readonly email: string; readonly name?: string };
  readonly externalRef?: string;
  readonly shippingAddress?: Address;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface Order extends OrderInput {
  readonly id: string;
  readonly status: OrderStatus;
  readonly amountRefunded: number;
  /** Rises with every change; the ETag. */
  readonly version: number;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** In place of a customer's address that was erased. Of the domain that RFC 2606 keeps free: no mail ever gets there. */
export const ERASED_EMAIL = 'erased@erased.invalid';

/** Whether `id` could be one of ours; what could not is not asked for. */
export function isOrderId(id: string): boolean {
  return /^ord_[0-9a-z]{26}$/.test(id);
}

export function newOrder(input: OrderInput): Order {
  return {
    ...input,
    id: typeidUnboxed('ord'),
    status: 'pending',
    amountRefunded: 0,
    version: 1,
    createdAt: new Date().toISOString(),
  };
}

/** The order as clients see it. */
export function orderBody(order: Order): OrderBody {
  return {
    id: order.id,
    status: order.status,
    amount: order.amount,
    amountRefunded: order.amountRefunded,
    currency: order.currency,
    items: order.items.map(({ sku, description, quantity, unitAmount }) => ({
      sku,
      description: description ?? null,
      quantity,
      unitAmount,
    })),
    customer: { email: order.customer.email, name: order.customer.name ?? null },
    externalRef: order.externalRef ?? null,
    shippingAddress: order.shippingAddress ?? null,
    metadata: order.metadata,
    createdAt: order.createdAt,
  };
}

export function orderHeaders({ id, version }: Order): { Location: string; ETag: string } {
  return { Location: `/v1/orders/${id}`, ETag: `"${version}"` };
}
