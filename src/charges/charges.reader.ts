import { Injectable } from '@nestjs/common';
import { Database } from '../database/transaction.js';
import { ChargeEntity, toCharge } from './charge.entity.js';
import { isChargeId, type Charge } from './charge.js';

type OneCharge = { readonly tenantId: string } & ({ readonly id: string } | { readonly derivedKey: string });

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

  private async findBy(where: OneCharge): Promise<Charge | undefined> {
    const charge = await this.findEntity(where);
    return charge ? toCharge(charge) : undefined;
  }

  private findEntity(where: OneCharge): Promise<ChargeEntity | null> {
    return this.database.read(where.tenantId, (manager) => manager.findOneBy(ChargeEntity, where));
  }
}
