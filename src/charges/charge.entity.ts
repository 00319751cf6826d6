import { Column, Entity, PrimaryColumn } from 'typeorm';
import { AMOUNT } from '../orders/order.entity.js';
import type { Charge, ChargeStatus } from './charge.js';

/** For reading; what writes charges is `charge.store.ts`. */
@Entity('charges')
export class ChargeEntity {
  @PrimaryColumn('text', { name: 'tenant_id' }) tenantId!: string;
  @PrimaryColumn('text') id!: string;
  @Column('text', { name: 'order_id' }) orderId!: string;
  @Column('text') status!: ChargeStatus;
  @Column('bigint', { transformer: AMOUNT }) amount!: number;
  @Column('bigint', { name: 'amount_refunded', transformer: AMOUNT }) amountRefunded!: number;
  @Column('boolean', { name: 'owed_back' }) owedBack!: boolean;
  @Column('text') currency!: string;
  @Column('text', { name: 'derived_key' }) derivedKey!: string;
  @Column('text', { name: 'idempotency_key', nullable: true }) idempotencyKey!: string | null;
  @Column('text', { name: 'provider_id', nullable: true }) providerId!: string | null;
  @Column('json', { name: 'next_action', nullable: true }) nextAction!: Charge['nextAction'] | null;
  @Column('json', { nullable: true }) failure!: Charge['failure'] | null;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}

export function toCharge(entity: ChargeEntity): Charge {
  const { providerId, nextAction, failure } = entity;
  return {
    id: entity.id,
    orderId: entity.orderId,
    status: entity.status,
    amount: entity.amount,
    amountRefunded: entity.amountRefunded,
    owedBack: entity.owedBack,
    currency: entity.currency,
    ...(providerId !== null && { providerId }),
    ...(nextAction && { nextAction }),
    ...(failure && { failure }),
    createdAt: entity.createdAt.toISOString(),
  };
}
