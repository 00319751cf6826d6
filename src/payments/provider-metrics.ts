import { Injectable } from '@nestjs/common';
import { Metrics } from '../metrics/metrics.js';
import { CircuitBreaker } from './circuit-breaker.js';
import type { PaymentProvider } from './payment-provider.js';

/** Which call to the provider: `charge`, `findCharge` … */
export type ProviderCall = Exclude<keyof PaymentProvider, 'list'>;

/** How long the provider takes and what it says, and whether it is asked at all. */
@Injectable()
export class ProviderMetrics {
  private readonly seconds;
  private readonly refused;

  constructor(metrics: Metrics, breaker: CircuitBreaker) {
    this.seconds = metrics.histogram('checkout_provider_call_seconds', 'Calls to the payment provider', [
      'call',
      'outcome',
    ]);
    this.refused = metrics.counter(
      'checkout_provider_calls_refused_total',
      'Calls that were not made, as the payment provider is away',
      ['call'],
    );
    metrics.gauges(
      { checkout_provider_away: '1 while no call is made to the payment provider, but for one now and then' },
      () => ({ checkout_provider_away: breaker.state === 'closed' ? 0 : 1 }),
    );
  }

  async timing<Outcome extends { status: string }>(
    call: ProviderCall,
    make: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const end = this.seconds.startTimer({ call });
    const outcome = await make();
    end({ outcome: outcome.status });
    return outcome;
  }

  notMade(call: ProviderCall): void {
    this.refused.inc({ call });
  }
}
