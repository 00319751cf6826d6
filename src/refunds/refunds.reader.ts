import { Injectable } from '@nestjs/common';
import type { FindOptionsWhere } from 'typeorm';
import { Database } from '../database/transaction.js';
import { RefundEntity, toRefund } from './refund.entity.js';
import { isRefundId, type Refund } from './refund.js';

@Injectable()
export class RefundsReader {
  constructor(private readonly database: Database) {}

  async find(tenantId: string, id: string): Promise<Refund | undefined> {
    return isRefundId(id) ? this.findBy({ tenantId, id }) : undefined;
  }

  /** The refund that a key led to. */
  findByDerivedKey(tenantId: string, derivedKey: string): Promise<Refund | undefined> {
    return this.findBy({ tenantId, derivedKey });
  }

  private async findBy(where: FindOptionsWhere<RefundEntity>): Promise<Refund | undefined> {
    const refund = await this.database.dataSource.getRepository(RefundEntity).findOneBy(where);
    return refund ? toRefund(refund) : undefined;
  }
}
