import { newId, secondsNow, type PaymentIntent, type Refund } from './objects.js';

/** What is sent to a webhook endpoint. Source: https://docs.stripe.com/api/events/object. */
export interface Event {
  readonly id: string;
  readonly object: 'event';
  readonly created: number;
  readonly type: string;
  /** As it was when the event came about, whatever it is when it is sent. */
  readonly data: { readonly object: PaymentIntent | Refund };
  readonly livemode: false;
}

type IntentState = Pick<PaymentIntent, 'status' | 'last_payment_error'>;

/** The event that a change of an intent is told by; undefined for changes that nobody is told of. */
export function intentEvent(intent: PaymentIntent, before?: PaymentIntent): Event | undefined {
  const type = intentType(intent);
  return type !== undefined && type !== (before && intentType(before)) ? event(type, intent) : undefined;
}

function intentType({ status, last_payment_error: error }: IntentState): string | undefined {
  switch (status) {
    case 'succeeded':
    case 'processing':
    case 'requires_action':
    case 'canceled':
      return `payment_intent.${status}`;
    case 'requires_payment_method':
      return error ? 'payment_intent.payment_failed' : undefined;
    default:
      return undefined;
  }
}

export function refundEvent(refund: Refund, before?: Refund): Event | undefined {
  if (!before) return event('refund.created', refund);
  if (refund.status === before.status) return undefined;
  return event(refund.status === 'failed' ? 'refund.failed' : 'refund.updated', refund);
}

function event(type: string, object: PaymentIntent | Refund): Event {
  return {
    id: newId('evt'),
    object: 'event',
    created: secondsNow(),
    type,
    data: { object },
    livemode: false,
  };
}
