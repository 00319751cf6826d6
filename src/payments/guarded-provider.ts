import type { CircuitBreaker } from './circuit-breaker.js';
import type { ChargeNews, RefundNews } from './payment-event.js';
import {
  PaymentProvider,
  type ChargeOutcome,
  type ChargeRequest,
  type ChargeTerms,
  type RefundOutcome,
  type RefundRequest,
  type UnsettledOutcome,
} from './payment-provider.js';
import type { ProviderCall, ProviderMetrics } from './provider-metrics.js';

/**
 * A provider behind a circuit breaker. While it is away a call is `not_acted`: nothing was sent, and whatever was
 * unknown before stays so. A look-up is `unknown`, and never `absent`: that nobody looked is not that nothing is there.
 */
export class GuardedProvider extends PaymentProvider {
  constructor(
    private readonly provider: PaymentProvider,
    private readonly breaker: CircuitBreaker,
    private readonly metrics: ProviderMetrics,
  ) {
    super();
  }

  charge(request: ChargeRequest, derivedKey: string): Promise<ChargeOutcome> {
    return this.guard('charge', () => this.provider.charge(request, derivedKey), notSent);
  }

  findCharge(request: ChargeRequest): Promise<ChargeOutcome> {
    return this.guard('findCharge', () => this.provider.findCharge(request), notLookedUp);
  }

  retrieveCharge(terms: ChargeTerms, providerId: string): Promise<ChargeOutcome> {
    return this.guard('retrieveCharge', () => this.provider.retrieveCharge(terms, providerId), notLookedUp);
  }

  cancelCharge(terms: ChargeTerms, providerId: string): Promise<ChargeOutcome> {
    return this.guard('cancelCharge', () => this.provider.cancelCharge(terms, providerId), notSent);
  }

  refund(request: RefundRequest, derivedKey: string): Promise<RefundOutcome> {
    return this.guard('refund', () => this.provider.refund(request, derivedKey), notSent);
  }

  findRefund(request: RefundRequest): Promise<RefundOutcome> {
    return this.guard('findRefund', () => this.provider.findRefund(request), notLookedUp);
  }

  retrieveRefund(request: RefundRequest, providerId: string): Promise<RefundOutcome> {
    return this.guard('retrieveRefund', () => this.provider.retrieveRefund(request, providerId), notLookedUp);
  }

  /** Many calls in one, a few times a day: it stays away with the others, and says nothing for them. */
  list(since: Date): AsyncIterable<ChargeNews | RefundNews> {
    if (this.breaker.state !== 'closed') throw new Error(AWAY);
    return this.provider.list(since);
  }

  private guard<Outcome extends ChargeOutcome | RefundOutcome>(
    call: ProviderCall,
    make: () => Promise<Outcome | UnsettledOutcome>,
    refused: (seconds: number) => UnsettledOutcome,
  ): Promise<Outcome | UnsettledOutcome> {
    return this.breaker.call(
      () => this.metrics.timing(call, make),
      isAway,
      (seconds) => {
        this.metrics.notMade(call);
        return refused(seconds);
      },
    );
  }
}

const AWAY = 'the provider is away: not asked';

function notSent(retryAfterSeconds: number): UnsettledOutcome {
  return { status: 'not_acted', reason: AWAY, retryAfterSeconds };
}

function notLookedUp(retryAfterSeconds: number): UnsettledOutcome {
  return { status: 'unknown', reason: AWAY, retryAfterSeconds };
}

function isAway(outcome: ChargeOutcome | RefundOutcome): boolean {
  return 'away' in outcome && outcome.away === true;
}
