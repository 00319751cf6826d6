import type { ChargeOutcome, RefundOutcome } from './payment-provider.js';

/**
 * What the provider told us without being asked. A hint: it may come twice, late, or before what led to it, so what
 * counts is the state that it tells of, never that it came. JSON values only.
 */
export interface PaymentEvent {
  /** The provider's id of it, the same each time it is sent. */
  readonly id: string;
  /** In the provider's words, for people: `payment_intent.succeeded`. */
  readonly type: string;
  readonly news: ChargeNews | RefundNews;
}

/** What the provider says of one of our charges; the ids are those that we gave it as metadata. */
export interface ChargeNews {
  readonly about: 'charge';
  readonly tenantId: string;
  readonly chargeId: string;
  readonly orderId: string | undefined;
  /** The provider's name of the payment. */
  readonly providerId: string;
  /** In the provider's smallest unit. */
  readonly amount: number;
  readonly currency: string;
  readonly outcome: ChargeOutcome;
}

/** What the provider says of one of our refunds. */
export interface RefundNews {
  readonly about: 'refund';
  readonly tenantId: string;
  readonly refundId: string;
  /** The provider's name of the refund. */
  readonly providerId: string;
  /** The provider's name of the payment that is refunded. */
  readonly paymentId: string | undefined;
  readonly amount: number;
  readonly currency: string;
  readonly outcome: RefundOutcome;
}

/** Under which what the provider said is in the inbox. */
export const PROVIDER = 'stripe';

/** Nobody but the provider can have sent it, or it was sent too long ago, or ahead of time: it counts as not sent. */
export class SignatureInvalid extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'SignatureInvalid';
  }
}

/** The provider has signed it, and yet it is no event: nothing can be made of it, however often it is sent. */
export class NotAnEvent extends Error {
  constructor() {
    super('the body is signed, and is not an event');
    this.name = 'NotAnEvent';
  }
}

/** Reads what the provider sends; an abstract class, so that it is its own Nest token. */
export abstract class PaymentEvents {
  /**
   * @param bytes the body exactly as it came: it is what is signed
   * @param now milliseconds since 1970
   * @returns undefined for what is of no concern to us: another kind of event, an object without our metadata
   * @throws SignatureInvalid, NotAnEvent
   */
  abstract read(bytes: Buffer, signature: string | undefined, now?: number): PaymentEvent | undefined;
}
