import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { OrderEntity } from './order.entity.js';

@Entity('order_items')
export class OrderItemEntity {
  @PrimaryColumn('text', { name: 'tenant_id' }) tenantId!: string;
  @PrimaryColumn('text', { name: 'order_id' }) orderId!: string;
  @PrimaryColumn('smallint') position!: number;
  @Column('text') sku!: string;
  @Column('text', { nullable: true }) description!: string | null;
  @Column('integer') quantity!: number;
  @Column('bigint', { name: 'unit_amount', transformer: { from: Number, to: (amount: number) => amount } })
  unitAmount!: number;

  @ManyToOne(() => OrderEntity, (order) => order.items)
  @JoinColumn([
    { name: 'tenant_id', referencedColumnName: 'tenantId' },
    { name: 'order_id', referencedColumnName: 'id' },
  ])
  order!: Relation<OrderEntity>;
}
