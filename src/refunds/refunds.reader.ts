import { Injectable } from '@nestjs/common';
import { Database } from '../database/transaction.js';
import { RefundEntity, toRefund } from './refund.entity.js';
import { isRefundId, type Refund } from './refund.js';

type OneRefund = { readonly tenantId: string } & ({ readonly id: string } | { readonly derivedKey: string });

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

  private async findBy(where: OneRefund): Promise<Refund | undefined> {
    const refund = await this.database.read(where.tenantId, (manager) =>
      manager.findOneBy(RefundEntity, where),
    );
    return refund ? toRefund(refund) : undefined;
  }
}
