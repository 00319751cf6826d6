import { Module } from '@nestjs/common';
import { PaymentEvents } from './payment-event.js';
import { PaymentProvider } from './payment-provider.js';
import { StripeEvents } from './stripe-events.js';
import { StripeProvider } from './stripe-provider.js';

@Module({
  providers: [
    { provide: PaymentProvider, useClass: StripeProvider },
    { provide: PaymentEvents, useClass: StripeEvents },
  ],
  exports: [PaymentProvider, PaymentEvents],
})
export class PaymentsModule {}
