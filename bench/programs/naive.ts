import { Body, Controller, Module, Post } from '@nestjs/common';
import { AppModule } from '../../src/app.module.js';
import {
  chargeBody,
  chargeRequest,
  newCharge,
  settled,
  type SettledOutcome,
} from '../../src/charges/charge.js';
import { insertFirstCharge, saveSettled } from '../../src/charges/charge.store.js';
import { CreateCheckoutDto } from '../../src/checkout/create-checkout.dto.js';
import { loadConfig } from '../../src/config/config.js';
import { createApp } from '../../src/create-app.js';
import { Database } from '../../src/database/transaction.js';
import type { Run } from '../../src/idempotency/operation.js';
import { recordPayment } from '../../src/ledger/ledger.js';
import { newOrder, orderBody } from '../../src/orders/order.js';
import { toOrderInput } from '../../src/orders/order-input.js';
import { insertOrder, markPaid } from '../../src/orders/order.store.js';
import { PaymentProvider } from '../../src/payments/payment-provider.js';
import { PaymentsModule } from '../../src/payments/payments.module.js';
import { CurrentTenant, type Tenant } from '../../src/tenancy/tenant.js';

/**
 * The same checkout in the same application, written by somebody who trusts the network: no key, no claim, no fence, no
 * stored reply, no receipt staged. A retry charges again.
 */
@Controller('naive')
class NaiveCheckouts {
  constructor(
    private readonly database: Database,
    private readonly payments: PaymentProvider,
  ) {}

  @Post('checkouts')
  async create(@CurrentTenant() { id: tenantId }: Tenant, @Body() body: CreateCheckoutDto) {
    const order = newOrder(toOrderInput(body));
    const charge = newCharge(order);
    const derivedKey = `naive:${charge.id}`;
    await this.database.transaction(async (tx) => {
      await insertOrder(tx, tenantId, order);
      insertFirstCharge(
        tx,
        { tenantId, key: '', derivedKey: () => derivedKey } as unknown as Run<unknown>,
        charge,
      );
    });
    const request = chargeRequest(tenantId, charge, body.paymentMethod, config.paymentReturnUrl);
    const outcome = (await this.payments.charge(request, derivedKey)) as SettledOutcome;
    const paid = settled(charge, outcome);
    await this.database.transaction(async (tx) => {
      markPaid(tx, tenantId, order.id);
      saveSettled(tx, tenantId, paid);
      recordPayment(tx, { tenantId, orderId: order.id, amount: order.amount, currency: order.currency });
    });
    return { order: orderBody({ ...order, status: 'paid' }), charge: chargeBody(paid) };
  }
}

@Module({ imports: [PaymentsModule], controllers: [NaiveCheckouts] })
class NaiveModule {}

const config = loadConfig();
const app = await createApp(config, { module: class Root {}, imports: [AppModule.for(config), NaiveModule] });
await app.listen(config.port, config.host);
