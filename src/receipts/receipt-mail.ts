import type { SendMailOptions } from 'nodemailer';
import type { StagedMessage } from '../outbox/delivery.js';
import { htmlOf } from './receipt-html.js';
import type { ReceiptMessage } from './receipt-message.js';
import { textOf } from './receipt-text.js';
import { oneLine, receiptOf, refundReceiptOf, type Receipt } from './receipt.js';
import type { RefundReceiptMessage } from './refund-receipt-message.js';

type Payload = ReceiptMessage | RefundReceiptMessage;

/** The mail of a staged receipt. The same message always makes the same mail: the same Message-ID, Date and text. */
export function receiptMail(message: StagedMessage, from: string): SendMailOptions {
  const payload = message.payload as Payload;
  const date = 'paidAt' in payload && payload.paidAt ? new Date(payload.paidAt) : message.createdAt;
  const receipt = inWords(payload, date);
  return {
    from,
    to: { name: oneLine(payload.name ?? ''), address: payload.email },
    subject: receipt.subject,
    text: textOf(receipt),
    html: htmlOf(receipt),
    date,
    messageId: messageId(message, from),
    // Nobody's holiday notice should answer a program (RFC 3834, section 5).
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}

function inWords(payload: Payload, date: Date): Receipt {
  return 'refundId' in payload ? refundReceiptOf(payload, date) : receiptOf(payload, date);
}

/**
 * `<receipt.ord_….acme@example.com>`: a mail that is sent twice has one Message-ID, by which mail programs and
 * people can tell. Two tenants' messages never share one.
 */
function messageId({ dedupeKey, tenantId }: StagedMessage, from: string): string {
  const words = [...dedupeKey.split(':'), tenantId].map(asAtom);
  return `<${words.join('.')}@${domainOf(from)}>`;
}

/** RFC 5322 allows few characters in a Message-ID; any other becomes `=` and its bytes, so that no two ids meet. */
function asAtom(word: string): string {
  return word.replace(/[^A-Za-z0-9_-]/gu, (character) => `=${Buffer.from(character).toString('hex')}`);
}

function domainOf(from: string): string {
  return /@([A-Za-z0-9.-]+)/.exec(from)?.[1] ?? 'localhost';
}
