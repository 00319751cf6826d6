import { formatAmount } from '../payments/currency.js';
import type { ReceiptMessage } from './receipt-message.js';
import type { RefundReceiptMessage } from './refund-receipt-message.js';

/** A receipt in words, one line each: what its text and its HTML both show. */
export interface Receipt {
  readonly subject: string;
  readonly greeting: string;
  readonly news: string;
  readonly lines: readonly { readonly label: string; readonly amount: string }[];
  readonly total: { readonly label: string; readonly amount: string };
  readonly facts: readonly { readonly label: string; readonly value: string }[];
}

export function receiptOf(message: ReceiptMessage, date: Date): Receipt {
  const { orderId, chargeId, currency } = message;
  const total = formatAmount(message.amount, currency);
  return {
    subject: `Your receipt: ${total}`,
    greeting: greetingOf(message),
    news: 'We have received your payment. Thank you!',
    lines: message.items.map(({ quantity, description, sku, unitAmount }) => ({
      label: `${quantity} × ${oneLine(description ?? sku)}`,
      amount: formatAmount(BigInt(quantity) * BigInt(unitAmount), currency),
    })),
    total: { label: 'Total', amount: total },
    facts: [
      { label: 'Order', value: orderId },
      { label: 'Charge', value: chargeId },
      { label: 'Date', value: minuteOf(date) },
    ],
  };
}

export function refundReceiptOf(message: RefundReceiptMessage, date: Date): Receipt {
  const { orderId, chargeId, refundId } = message;
  const refunded = formatAmount(message.amount, message.currency);
  return {
    subject: `Your refund: ${refunded}`,
    greeting: greetingOf(message),
    news: 'We have refunded your payment. Your bank may take some days to show it.',
    lines: [],
    total: { label: 'Refunded', amount: refunded },
    facts: [
      { label: 'Order', value: orderId },
      { label: 'Charge', value: chargeId },
      { label: 'Refund', value: refundId },
      { label: 'Date', value: minuteOf(date) },
    ],
  };
}

function greetingOf({ name }: { readonly name?: string }): string {
  return name ? `Hello ${oneLine(name)},` : 'Hello,';
}

function minuteOf(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/**
 * What a client sent may not add lines to a mail, nor turn the direction of its text: a name such as
 * "Ada\n\nPlease pay again at …" would otherwise speak in our voice.
 */
export function oneLine(text: string): string {
  return text.replace(BREAKS_AND_TURNS, ' ').trim();
}

const BREAKS_AND_TURNS = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;
