import { Column, Entity, PrimaryColumn } from 'typeorm';
import { AMOUNT } from '../orders/order.entity.js';
import type { Refund, RefundReason, RefundStatus } from './refund.js';

/** For reading; what writes refunds is `refund.store.ts`. */
@Entity('refunds')
export class RefundEntity {
  @PrimaryColumn('text', { name: 'tenant_id' }) tenantId!: string;
  @PrimaryColumn('text') id!: string;
  @Column('text', { name: 'charge_id' }) chargeId!: string;
  @Column('text') status!: RefundStatus;
  @Column('bigint', { transformer: AMOUNT }) amount!: number;
  @Column('text') currency!: string;
  @Column('text', { nullable: true }) reason!: RefundReason | null;
  @Column('text', { name: 'derived_key' }) derivedKey!: string;
  @Column('text', { name: 'provider_id', nullable: true }) providerId!: string | null;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}

export function toRefund({ id, chargeId, status, amount, currency, ...entity }: RefundEntity): Refund {
  const { reason, providerId, createdAt } = entity;
  return {
    id,
    chargeId,
    status,
    amount,
    currency,
    ...(reason !== null && { reason }),
    ...(providerId !== null && { providerId }),
    createdAt: createdAt.toISOString(),
  };
}
