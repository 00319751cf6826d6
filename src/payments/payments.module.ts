import { Logger, Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { CircuitBreaker } from './circuit-breaker.js';
import { GuardedProvider } from './guarded-provider.js';
import { PaymentEvents } from './payment-event.js';
import { PaymentProvider } from './payment-provider.js';
import { ProviderMetrics } from './provider-metrics.js';
import { StripeEvents } from './stripe-events.js';
import { StripeProvider } from './stripe-provider.js';

/** Once an outage, not once a call. */
function sayAloud(circuit: 'open' | 'closed'): void {
  const logger = new Logger('Provider');
  if (circuit === 'open')
    logger.error('The payment provider is away: nothing is sent, but a call now and then');
  else logger.log('The payment provider is back');
}

@Module({
  providers: [
    {
      provide: CircuitBreaker,
      inject: [Config],
      useFactory: ({ provider }: Config) => new CircuitBreaker(provider.breaker, sayAloud),
    },
    StripeProvider,
    ProviderMetrics,
    {
      provide: PaymentProvider,
      inject: [StripeProvider, CircuitBreaker, ProviderMetrics],
      useFactory: (...parts: ConstructorParameters<typeof GuardedProvider>) => new GuardedProvider(...parts),
    },
    { provide: PaymentEvents, useClass: StripeEvents },
  ],
  exports: [PaymentProvider, PaymentEvents],
})
export class PaymentsModule {}
