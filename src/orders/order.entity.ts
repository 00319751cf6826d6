import { Column, Entity, JoinColumn, ManyToOne, OneToMany, PrimaryColumn, type Relation } from 'typeorm';
import type { Order, OrderStatus } from './order.js';

/** bigint comes as text; amounts are far below 2^53. */
export const AMOUNT = { from: Number, to: (amount: number) => amount };

/** For reading; what writes orders is `order.store.ts`. */
@Entity('orders')
export class OrderEntity {
  @PrimaryColumn('text', { name: 'tenant_id' }) tenantId!: string;
  @PrimaryColumn('text') id!: string;
  @Column('text') status!: OrderStatus;
  @Column('bigint', { transformer: AMOUNT }) amount!: number;
  @Column('bigint', { name: 'amount_refunded', transformer: AMOUNT }) amountRefunded!: number;
  @Column('text') currency!: string;
  @Column('text', { name: 'customer_email' }) customerEmail!: string;
  @Column('text', { name: 'customer_name', nullable: true }) customerName!: string | null;
  @Column('text', { name: 'external_ref', nullable: true }) externalRef!: string | null;
  @Column('json', { name: 'shipping_address', nullable: true }) shippingAddress!:
    Order['shippingAddress'] | null;
  @Column('json') metadata!: Record<string, string>;
  @Column('integer') version!: number;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @OneToMany(() => OrderItemEntity, (item) => item.order) items!: OrderItemEntity[];
}

@Entity('order_items')
export class OrderItemEntity {
  @PrimaryColumn('text', { name: 'tenant_id' }) tenantId!: string;
  @PrimaryColumn('text', { name: 'order_id' }) orderId!: string;
  @PrimaryColumn('smallint') position!: number;
  @Column('text') sku!: string;
  @Column('text', { nullable: true }) description!: string | null;
  @Column('integer') quantity!: number;
  @Column('bigint', { name: 'unit_amount', transformer: AMOUNT })
  unitAmount!: number;

  @ManyToOne(() => OrderEntity, (order) => order.items)
  @JoinColumn([
    { name: 'tenant_id', referencedColumnName: 'tenantId' },
    { name: 'order_id', referencedColumnName: 'id' },
  ])
  order!: Relation<OrderEntity>;
}

export function toOrder(entity: OrderEntity): Order {
  const { customerEmail, customerName, externalRef, shippingAddress } = entity;
  return {
    id: entity.id,
    status: entity.status,
    amount: entity.amount,
    amountRefunded: entity.amountRefunded,
    currency: entity.currency,
    customer: { email: customerEmail, ...(customerName !== null && { name: customerName }) },
    ...(externalRef !== null && { externalRef }),
    ...(shippingAddress && { shippingAddress }),
    metadata: entity.metadata,
    version: entity.version,
    createdAt: entity.createdAt.toISOString(),
    items: [...entity.items]
      .sort((a, b) => a.position - b.position)
      .map(({ sku, description, quantity, unitAmount }) => ({
        sku,
        ...(description !== null && { description }),
        quantity,
        unitAmount,
      })),
  };
}
