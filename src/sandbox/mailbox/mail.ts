import { simpleParser, type AddressObject } from 'mailparser';
import type { Readable } from 'node:stream';

/** A mail as `GET /messages` tells it. */
export interface Mail {
  /** With its angle brackets, as in the header; empty if the mail has none. */
  readonly messageId: string;
  /** Addresses without names, joined by a comma. */
  readonly to: string;
  readonly subject: string;
  readonly text: string | null;
  readonly html: string | null;
  /** ISO 8601. */
  readonly receivedAt: string;
}

export async function readMail(source: Readable): Promise<Mail> {
  // Plain text stays plain, and text that is missing stays missing: what is shown is what was sent.
  const mail = await simpleParser(source, { skipHtmlToText: true, skipTextToHtml: true });
  return {
    messageId: mail.messageId ?? '',
    to: addressesOf(mail.to),
    subject: mail.subject ?? '',
    text: mail.text ?? null,
    html: mail.html || null,
    receivedAt: new Date().toISOString(),
  };
}

function addressesOf(header: AddressObject | AddressObject[] | undefined): string {
  const objects = header === undefined ? [] : [header].flat();
  return objects.flatMap(({ value }) => value.map(({ address }) => address ?? '')).join(', ');
}
