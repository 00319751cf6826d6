import type { LastPaymentError } from './objects.js';
import { invalidRequest } from './provider-error.js';

/** What a test payment method does when it is charged, or refunded. Source: https://docs.stripe.com/testing. */
export type Behaviour = 'succeed' | 'authenticate' | 'process' | LastPaymentError;

export interface PaymentMethod {
  /** How it is named in answers and in the ledger; never a card number. */
  readonly name: string;
  readonly behaviour: Behaviour;
  readonly refund: 'succeed' | 'pend' | 'fail';
}

const SUCCEED = { behaviour: 'succeed', refund: 'succeed' } as const;
const AUTHENTICATE = { behaviour: 'authenticate', refund: 'succeed' } as const;

const MESSAGES: Readonly<Record<string, string>> = {
  expired_card: 'Your card has expired.',
  incorrect_cvc: "Your card's security code is incorrect.",
  incorrect_number: 'Your card number is incorrect.',
  processing_error: 'An error occurred while processing your card. Try again in a little bit.',
};

/** By what follows `pm_card_` or `tok_`, with or without `visa_`. */
const METHODS: Readonly<Record<string, Omit<PaymentMethod, 'name'>>> = {
  visa: SUCCEED,
  mastercard: SUCCEED,
  amex: SUCCEED,
  chargeDeclined: declined('card_declined', 'generic_decline'),
  chargeDeclinedInsufficientFunds: declined('card_declined', 'insufficient_funds'),
  chargeDeclinedLostCard: declined('card_declined', 'lost_card'),
  chargeDeclinedStolenCard: declined('card_declined', 'stolen_card'),
  chargeDeclinedVelocityLimitExceeded: declined('card_declined', 'card_velocity_exceeded'),
  chargeDeclinedExpiredCard: declined('expired_card'),
  chargeDeclinedIncorrectCvc: declined('incorrect_cvc'),
  chargeDeclinedProcessingError: declined('processing_error'),
  chargeDeclinedIncorrectNumber: declined('incorrect_number'),
  chargeCustomerFail: declined('card_declined', 'generic_decline'),
  authenticationRequired: AUTHENTICATE,
  authenticationRequiredOnSetup: AUTHENTICATE,
  threeDSecure2Required: AUTHENTICATE,
  pendingRefund: { ...SUCCEED, refund: 'pend' },
  refundFail: { ...SUCCEED, refund: 'fail' },
};

const NUMBERS: Readonly<Record<string, string>> = {
  '4242424242424242': 'visa',
  '5555555555554444': 'mastercard',
  '378282246310005': 'amex',
  '4000000000000002': 'chargeDeclined',
  '4000000000009995': 'chargeDeclinedInsufficientFunds',
  '4000000000009987': 'chargeDeclinedLostCard',
  '4000000000009979': 'chargeDeclinedStolenCard',
  '4000000000006975': 'chargeDeclinedVelocityLimitExceeded',
  '4000000000000069': 'chargeDeclinedExpiredCard',
  '4000000000000127': 'chargeDeclinedIncorrectCvc',
  '4000000000000119': 'chargeDeclinedProcessingError',
  '4242424242424241': 'chargeDeclinedIncorrectNumber',
  '4000000000000341': 'chargeCustomerFail',
  '4000002500003155': 'authenticationRequiredOnSetup',
  '4000002760003184': 'authenticationRequired',
  '4000000000003220': 'threeDSecure2Required',
  '4000000000007726': 'pendingRefund',
  '4000000000005126': 'refundFail',
};

/** The one bank payment here: it stays in processing until `POST /_settle/{id}` plays the days that pass. */
const BANK = 'pm_usBankAccount_processing';

/** @throws ProviderError 400 `resource_missing` for a method that Stripe's test mode does not have */
export function findPaymentMethod(token: string): PaymentMethod {
  if (token === BANK) return { name: BANK, behaviour: 'process', refund: 'succeed' };
  const card = NUMBERS[token] ?? /^(?:pm_card|tok)_(?:visa_)?(\w+)$/.exec(token)?.[1];
  const method = card !== undefined && Object.hasOwn(METHODS, card) ? METHODS[card] : undefined;
  if (!method)
    throw invalidRequest(`No such PaymentMethod: '${masked(token)}'`, 'resource_missing', 'payment_method');
  return { name: `pm_card_${card}`, ...method };
}

export function declineOf(code: string, declineCode?: string): LastPaymentError {
  const message = MESSAGES[code] ?? 'Your card was declined.';
  return { type: 'card_error', code, ...(declineCode && { decline_code: declineCode }), message };
}

function declined(code: string, declineCode?: string): Omit<PaymentMethod, 'name'> {
  return { behaviour: declineOf(code, declineCode), refund: 'succeed' };
}

const masked = (token: string) => token.replace(/\d(?=\d{4})/g, '*');
