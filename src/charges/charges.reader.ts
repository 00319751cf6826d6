import { Injectable } from '@nestjs/common';
import type { FindOptionsWhere } from 'typeorm';
import { Database } from '../database/transaction.js';
import { ChargeEntity, toCharge } from './charge.entity.js';
import { isChargeId, type Charge } from './charge.js';

@Injectable()
export class ChargesReader {
  constructor(private readonly database: Database) {}

  async find(tenantId: string, id: string): Promise<Charge | undefined> {
    return isChargeId(id) ? this.findBy({ tenantId, id }) : undefined;
  }

  /** The charge that a key led to. */
  findByDerivedKey(tenantId: string, derivedKey: string): Promise<Charge | undefined> {
    return this.findBy({ tenantId, derivedKey });
  }

  /** The client's key that a charge came from, and the key that the provider was sent. */
  async keysOf(
    tenantId: string,
    id: string,
  ): Promise<{ idempotencyKey: string | null; derivedKey: string } | undefined> {
    return (await this.findEntity({ tenantId, id })) ?? undefined;
  }

  private async findBy(where: FindOptionsWhere<ChargeEntity>): Promise<Charge | undefined> {
    const charge = await this.findEntity(where);
    return charge ? toCharge(charge) : undefined;
  }

  private findEntity(where: FindOptionsWhere<ChargeEntity>): Promise<ChargeEntity | null> {
    return this.database.dataSource.getRepository(ChargeEntity).findOneBy(where);
  }
}
