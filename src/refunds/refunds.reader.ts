import { Injectable } from '@nestjs/common';
import { Database } from '../database/transaction.js';
import { RefundEntity, toRefund } from './refund.entity.js';
import { isRefundId, type Refund } from './refund.js';

@Injectable()
export class RefundsReader {
  constructor(private readonly database: Database) {}

  async find(tenantId: string, id: string): Promise<Refund | undefined> {
    if (!isRefundId(id)) return undefined;
    const refund = await this.database.dataSource.getRepository(RefundEntity).findOneBy({ tenantId, id });
    return refund ? toRefund(refund) : undefined;
  }
}
