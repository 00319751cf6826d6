import type { DynamicModule } from '@nestjs/common';
import { ChargeEntity } from './charges/charge.entity.js';
import { ChargesModule, ChargesRoutes } from './charges/charges.module.js';
import { ReconcilerModule } from './charges/reconciler.module.js';
import { CheckoutModule, CheckoutRoutes } from './checkout/checkout.module.js';
import type { Config } from './config/config.js';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule } from './database/database.module.js';
import { EventsModule } from './events/events.module.js';
import { HttpModule } from './http/http.module.js';
import { IdempotencyModule } from './idempotency/idempotency.module.js';
import { RecoveryModule } from './idempotency/recovery.module.js';
import { KeysRoutes } from './keys/keys.module.js';
import { LimitsModule } from './limits/limits.module.js';
import { OperatorRoutes } from './operator/operator.module.js';
import { OrderEntity, OrderItemEntity } from './orders/order.entity.js';
import { OrdersModule, OrdersRoutes } from './orders/orders.module.js';
import { RelayModule } from './outbox/relay.module.js';
import { ReceiptsModule } from './receipts/receipts.module.js';
import { RefundEntity } from './refunds/refund.entity.js';
import { RefundReconcilerModule } from './refunds/refund-reconciler.module.js';
import { RefundsModule, RefundsRoutes } from './refunds/refunds.module.js';
import { ApiKeyAuthenticator } from './tenancy/api-key-authenticator.js';
import { KeyUses } from './tenancy/key-uses.js';
import { TenancyModule } from './tenancy/tenancy.module.js';
import { SweepModule } from './webhooks/sweep.module.js';
import { WebhooksModule, WebhooksRoutes } from './webhooks/webhooks.module.js';

/** What repositories read. */
export const ENTITIES = [OrderEntity, OrderItemEntity, ChargeEntity, RefundEntity];

/** What every process has, whatever its role. */
const base = (config: Config, tenancy: DynamicModule) => [
  ConfigModule.for(config),
  DatabaseModule.for({ ...config.database, lease: config.timings.lease }, ENTITIES),
  HttpModule,
  LimitsModule,
  tenancy,
  IdempotencyModule.for(config),
  EventsModule,
];

/** What answers clients. */
const API = [
  OrdersRoutes,
  ChargesRoutes,
  RefundsRoutes,
  CheckoutRoutes,
  KeysRoutes,
  WebhooksRoutes,
  OperatorRoutes,
];

/** What works in the background, in any number of copies. */
const WORKER = [
  OrdersModule,
  ChargesModule,
  RefundsModule,
  CheckoutModule,
  RecoveryModule,
  ReconcilerModule,
  RefundReconcilerModule,
  WebhooksModule,
  SweepModule,
  RelayModule,
  ReceiptsModule,
];

/** The composition root: which parts a process is made of, by its role. */
export class AppModule {
  /** @param tenancy how callers are known */
  static for(config: Config, tenancy = TenancyModule.by(ApiKeyAuthenticator, KeyUses)): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ...base(config, tenancy),
        ...(config.role === 'worker' ? [] : API),
        ...(config.role === 'api' ? [] : WORKER),
      ],
    };
  }
}
