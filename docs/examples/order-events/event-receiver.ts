import { Injectable } from '@nestjs/common';
import { statement } from '../../../src/database/statement.js';
import { Database } from '../../../src/database/transaction.js';
import { Inbox } from '../../../src/inbox/inbox.js';
import type { OrderEvent } from './order-event.js';
import { CHECKOUT } from './take-event.handler.js';

/** Takes an event over: once this resolves it is stored, and the broker may forget it. */
@Injectable()
export class EventReceiver {
  constructor(
    private readonly database: Database,
    private readonly inbox: Inbox,
  ) {}

  /** @returns whether it is new; the inbox knows what came before by its id */
  async receive(event: OrderEvent): Promise<boolean> {
    const { tenantId, id } = event;
    await this.database.query(MEET, [tenantId]); // the inbox takes nothing of a tenant that it does not know
    return this.inbox.receive({ tenantId, source: CHECKOUT, id, payload: event });
  }
}

const MEET = statement(
  'tenant_meet',
  'INSERT INTO tenants (id, name) VALUES ($1, $1) ON CONFLICT (id) DO NOTHING',
);
