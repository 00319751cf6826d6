import { newId, secondsNow, type LastPaymentError, type NextAction, type PaymentIntent } from './objects.js';
import type { Parameters } from './parameters.js';
import { declineOf, findPaymentMethod, type Behaviour } from './payment-methods.js';
import { invalidRequest, type ProviderError } from './provider-error.js';

/** The life of a payment intent: from one state to the next, as Stripe's. Nothing here stores or sends anything. */

/** Eight digits. Source: https://docs.stripe.com/currencies. */
const MAX_AMOUNT = 99_999_999;

const CREATE = [
  'amount',
  'automatic_payment_methods',
  'capture_method',
  'confirm',
  'currency',
  'description',
  'metadata',
  'payment_method',
  'payment_method_types',
  'return_url',
];

const CANCELLATION_REASONS = ['abandoned', 'duplicate', 'fraudulent', 'requested_by_customer'] as const;

/** An authorisation that nobody captures lapses. */
const CAPTURE_WITHIN_SECONDS = 7 * 24 * 60 * 60;

/** What the world around an intent decides: where it can be authenticated, and whether an outage declines it. */
export interface Surroundings {
  readonly authenticationUrl: (id: string) => string;
  readonly decline: boolean;
}

export function createIntent(parameters: Parameters, surroundings: Surroundings): PaymentIntent {
  parameters.allowOnly(CREATE);
  const method = parameters.text('payment_method');
  const intent: PaymentIntent = {
    id: newId('pi'),
    object: 'payment_intent',
    amount: chargeable(parameters),
    amount_capturable: 0,
    amount_received: 0,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: parameters.oneOf('capture_method', ['automatic', 'manual']) ?? 'automatic',
    created: secondsNow(),
    currency: currencyOf(parameters),
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    metadata: parameters.map('metadata'),
    next_action: null,
    payment_method: method === undefined ? null : findPaymentMethod(method).name,
    status: method === undefined ? 'requires_payment_method' : 'requires_confirmation',
  };
  return parameters.flag('confirm') ? pay(intent, parameters, surroundings) : intent;
}

export function confirmIntent(
  intent: PaymentIntent,
  parameters: Parameters,
  surroundings: Surroundings,
): PaymentIntent {
  parameters.allowOnly(['payment_method', 'return_url']);
  expectStatus(intent, 'confirm', ['requires_payment_method', 'requires_confirmation', 'requires_action']);
  return pay(intent, parameters, surroundings);
}

function pay(intent: PaymentIntent, parameters: Parameters, surroundings: Surroundings): PaymentIntent {
  const token = parameters.text('payment_method') ?? intent.payment_method;
  if (token === null) throw unexpectedState('confirm', 'it is missing a payment method');
  const { name, behaviour } = findPaymentMethod(token);
  const outcome = surroundings.decline ? declineOf('card_declined', 'generic_decline') : behaviour;
  const action = () => nextAction(surroundings.authenticationUrl(intent.id), parameters.text('return_url'));
  return attempt({ ...intent, payment_method: name, latest_charge: newId('ch') }, outcome, action);
}

function attempt(intent: PaymentIntent, behaviour: Behaviour, action: () => NextAction): PaymentIntent {
  switch (behaviour) {
    case 'succeed':
      return approve(intent);
    case 'process':
      return { ...intent, status: 'processing', last_payment_error: null, next_action: null };
    case 'authenticate':
      return { ...intent, status: 'requires_action', last_payment_error: null, next_action: action() };
    default:
      return refuse(intent, behaviour);
  }
}

function approve(intent: PaymentIntent): PaymentIntent {
  const settled = { ...intent, last_payment_error: null, next_action: null };
  return intent.capture_method === 'manual'
    ? { ...settled, status: 'requires_capture', amount_capturable: intent.amount }
    : { ...settled, status: 'succeeded', amount_received: intent.amount };
}

function refuse(intent: PaymentIntent, error: LastPaymentError): PaymentIntent {
  return {
    ...intent,
    status: 'requires_payment_method',
    payment_method: null,
    last_payment_error: error,
    next_action: null,
  };
}

function nextAction(url: string, returnUrl: string | undefined): NextAction {
  if (returnUrl === undefined) return { type: 'use_stripe_sdk', use_stripe_sdk: {} };
  return { type: 'redirect_to_url', redirect_to_url: { url, return_url: returnUrl } };
}

/** The customer, at the bank's page. */
export function authenticateIntent(intent: PaymentIntent, outcome: 'succeed' | 'fail'): PaymentIntent {
  expectStatus(intent, 'authenticate', ['requires_action']);
  if (outcome === 'succeed') return approve(intent);
  return refuse(intent, {
    type: 'invalid_request_error',
    code: 'payment_intent_authentication_failure',
    message: 'The provided PaymentMethod has failed authentication.',
  });
}

/** The days that a bank payment takes. */
export function settleIntent(intent: PaymentIntent): PaymentIntent {
  expectStatus(intent, 'settle', ['processing']);
  return approve(intent);
}

export function cancelIntent(intent: PaymentIntent, parameters: Parameters): PaymentIntent {
  parameters.allowOnly(['cancellation_reason']);
  const reason = parameters.oneOf('cancellation_reason', CANCELLATION_REASONS) ?? null;
  expectStatus(intent, 'cancel', [
    'requires_payment_method',
    'requires_confirmation',
    'requires_action',
    'requires_capture',
  ]);
  return canceled(intent, reason);
}

export function captureIntent(intent: PaymentIntent, parameters: Parameters): PaymentIntent {
  parameters.allowOnly(['amount_to_capture']);
  expectStatus(intent, 'capture', ['requires_capture']);
  const amount = parameters.integer('amount_to_capture') ?? intent.amount_capturable;
  if (amount < 1 || amount > intent.amount_capturable) {
    throw invalidRequest(
      'The amount to capture is not within what was authorized.',
      'amount_too_large',
      'amount_to_capture',
    );
  }
  return { ...intent, status: 'succeeded', amount_received: amount, amount_capturable: 0 };
}

/** What time has made of an intent. */
export function agedIntent(intent: PaymentIntent): PaymentIntent {
  const lapsed =
    intent.status === 'requires_capture' && intent.created + CAPTURE_WITHIN_SECONDS <= secondsNow();
  return lapsed ? canceled(intent, 'automatic') : intent;
}

function canceled(intent: PaymentIntent, reason: string | null): PaymentIntent {
  return {
    ...intent,
    status: 'canceled',
    amount_capturable: 0,
    canceled_at: secondsNow(),
    cancellation_reason: reason,
    next_action: null,
  };
}

function chargeable(parameters: Parameters): number {
  parameters.required('amount');
  const amount = parameters.integer('amount')!;
  if (amount < 1)
    throw invalidRequest(
      'This value must be greater than or equal to 1.',
      'parameter_invalid_integer',
      'amount',
    );
  if (amount > MAX_AMOUNT)
    throw invalidRequest('Amount must be no more than 8 digits.', 'amount_too_large', 'amount');
  return amount;
}

function currencyOf(parameters: Parameters): string {
  const currency = parameters.required('currency').toLowerCase();
  if (!/^[a-z]{3}$/.test(currency))
    throw invalidRequest(`Invalid currency: ${currency}`, 'currency_invalid', 'currency');
  return currency;
}

function expectStatus(
  intent: PaymentIntent,
  verb: string,
  allowed: readonly PaymentIntent['status'][],
): void {
  if (!allowed.includes(intent.status)) throw unexpectedState(verb, `its status is ${intent.status}`);
}

function unexpectedState(verb: string, why: string): ProviderError {
  const message = `You cannot ${verb} this PaymentIntent because ${why}.`;
  return invalidRequest(message, 'payment_intent_unexpected_state');
}
