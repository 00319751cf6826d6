import type { ChargeNews, RefundNews } from './payment-event.js';

/** What is frozen before a charge is sent: every retry sends exactly this. JSON values only. */
export interface ChargeRequest {
  readonly tenantId: string;
  readonly orderId: string;
  /** Ours, `ch_…`; sent as metadata, so that the charge can be found at the provider without its answer. */
  readonly chargeId: string;
  /** In the provider's smallest unit of the currency. */
  readonly amount: number;
  /** Three letters, lower case. */
  readonly currency: string;
  /** A token such as `pm_card_visa`; never a card number. */
  readonly paymentMethod: string;
  /** Where the customer comes back to after an authentication at the bank; frozen like all the rest. */
  readonly returnUrl: string;
}

/** What identifies a charge at the provider, and what the provider must say of it. */
export type ChargeTerms = Omit<ChargeRequest, 'paymentMethod' | 'returnUrl'>;

export interface RefundRequest {
  readonly tenantId: string;
  /** Ours, `re_…`; sent as metadata. */
  readonly refundId: string;
  /** The provider's name of the payment that is refunded. */
  readonly providerId: string;
  readonly amount: number;
  readonly currency: string;
  readonly reason?: 'duplicate' | 'fraudulent' | 'requested_by_customer';
}

/** What identifies a refund at the provider, and what the provider must say of it. */
export type RefundTerms = Omit<RefundRequest, 'reason'>;

/** Why the provider said no, in its own codes. */
export interface Failure {
  readonly code: string;
  readonly declineCode?: string;
  readonly message: string;
  /** The member of our API that is at fault, where the provider named one: `paymentMethod`, `amount`, `currency`. */
  readonly param?: string;
}

/** What the customer must do before the payment can go on. */
export interface NextAction {
  readonly type: 'redirect_to_url';
  readonly url: string;
}

/**
 * Outcomes that settle nothing.
 * - `not_acted`: this call did nothing (connection refused, name not found, 401, 429).
 * - `unknown`: it may have acted (timeout, reset, 5xx, an answer that cannot be read, 409 in use). `replayed` says
 *   that the provider stores its 500: asking again with the same key would only repeat it; `absent` that a look-up
 *   was answered, and found nothing.
 * - `contradicted`: the provider knows the derived key with other parameters, or answers with another amount;
 *   `absent` says that it has nothing of the name that it gave us.
 *
 * `retryAfterSeconds`: the provider asks us to stay away for so long. `away`: it was not reached, did not answer in
 * its own words, or said that it is unwell; that speaks of its health, and of nothing else.
 */
export type UnsettledOutcome = { readonly retryAfterSeconds?: number; readonly away?: boolean } & (
  | { readonly status: 'not_acted'; readonly reason: string }
  | {
      readonly status: 'unknown';
      readonly reason: string;
      readonly replayed?: boolean;
      readonly absent?: boolean;
    }
  | { readonly status: 'contradicted'; readonly reason: string; readonly absent?: boolean }
);

export type ChargeOutcome =
  | { readonly status: 'succeeded'; readonly providerId: string }
  | { readonly status: 'requires_action'; readonly providerId: string; readonly nextAction: NextAction }
  | { readonly status: 'processing'; readonly providerId: string }
  /** It was ended before anything was paid: by us, at the provider's dashboard, or because it lapsed. */
  | { readonly status: 'canceled'; readonly providerId: string }
  /** The issuer said no: final for this derived key. */
  | { readonly status: 'declined'; readonly providerId?: string; readonly failure: Failure }
  /** The provider refused the request itself (a final 400): final as well, nothing was charged. */
  | { readonly status: 'rejected'; readonly failure: Failure }
  | UnsettledOutcome;

export type RefundOutcome =
  | {
      readonly status: 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled';
      readonly providerId: string;
      readonly failure?: Failure;
    }
  | { readonly status: 'rejected'; readonly failure: Failure }
  | UnsettledOutcome;

/** An outcome that says what has become of the charge or refund. */
export type Settling<Outcome> = Exclude<Outcome, { status: UnsettledOutcome['status'] }>;

export function isSettling<Outcome extends { readonly status: string }>(
  outcome: Outcome,
): outcome is Settling<Outcome> {
  return !['not_acted', 'unknown', 'contradicted'].includes(outcome.status);
}

/**
 * The port to whoever moves the money; an abstract class, so that it is its own Nest token.
 * No method throws for what a provider or a network can do: each is an outcome.
 * No method retries by itself: the engine decides, and counts.
 */
export abstract class PaymentProvider {
  /** Sends `request` under `derivedKey`; the same pair always means the same charge. */
  abstract charge(request: ChargeRequest, derivedKey: string): Promise<ChargeOutcome>;

  /** Looks the charge up by our id. Not found is `unknown`: the provider's search may lag behind. */
  abstract findCharge(request: ChargeRequest): Promise<ChargeOutcome>;

  /**
   * What `providerId` says of this charge. Another payment, or none that the provider knows, is `contradicted`.
   */
  abstract retrieveCharge(terms: ChargeTerms, providerId: string): Promise<ChargeOutcome>;

  /**
   * Ends a payment that nobody has completed. What cannot be ended any more, because it went through meanwhile, is
   * reported as what it is. An absolute change of state: made twice it is made once, so it needs no derived key.
   */
  abstract cancelCharge(terms: ChargeTerms, providerId: string): Promise<ChargeOutcome>;

  abstract refund(request: RefundRequest, derivedKey: string): Promise<RefundOutcome>;

  abstract findRefund(request: RefundRequest): Promise<RefundOutcome>;

  /** As `retrieveCharge`. */
  abstract retrieveRefund(terms: RefundTerms, providerId: string): Promise<RefundOutcome>;

  /**
   * Everything of ours that was made since then, as it is now: charges, then refunds. Unlike the others it throws: what
   * comes in pieces has no one outcome.
   * @throws where the provider cannot be asked
   */
  abstract list(since: Date): AsyncIterable<ChargeNews | RefundNews>;
}
