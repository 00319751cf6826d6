import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createTransport, type SMTPPoolOptions, type Transporter } from 'nodemailer';
import { Config } from '../config/config.js';
import { MessageHandler, type StagedMessage } from '../outbox/delivery.js';
import { receiptMail } from './receipt-mail.js';
import { RECEIPT_TOPIC } from './receipt-message.js';

/**
 * Sends receipts by SMTP. Each refusal is a failed try, also the ones that call themselves permanent (5xx): they
 * come as well from a wrong password, a full mailbox or a block list, and no code tells those from an address that
 * does not exist. A try costs little, and what never works ends as a dead letter all the same.
 */
@Injectable()
export class ReceiptMailer extends MessageHandler implements OnApplicationShutdown {
  readonly topic = RECEIPT_TOPIC;
  private readonly transport: Transporter<unknown, SMTPPoolOptions>;

  constructor(private readonly config: Config) {
    super();
    this.transport = createTransport({ ...SMTP, url: config.mail.smtpUrl });
  }

  async deliver(message: StagedMessage, signal: AbortSignal): Promise<void> {
    await this.transport.sendMail({ ...receiptMail(message, this.config.mail.from), signal });
  }

  onApplicationShutdown(): void {
    this.transport.close();
  }
}

const SMTP = {
  pool: true,
  maxConnections: 8, // many servers allow ten from one address
  maxRequeues: 0, // the relay decides about tries, and counts them
  idleTimeout: 30_000, // below the servers' own, which would cut a connection just as it is used again
  // Together below the relay's limit for a delivery, so that its error can say what SMTP was waiting for.
  dnsTimeout: 3_000,
  connectionTimeout: 4_000,
  greetingTimeout: 4_000,
  socketTimeout: 10_000,
  disableFileAccess: true, // a mail is made of what it is given, never of files or pages that its text names
  disableUrlAccess: true,
} as const satisfies SMTPPoolOptions & { pool: true };
