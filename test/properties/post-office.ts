import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deliver } from '../support/webhooks.js';

/** An event as the provider signed and sent it. */
interface Letter {
  readonly body: Buffer;
  readonly signature: string;
  /** The provider's payment that it is about, or the one that was refunded. */
  readonly paymentId: string;
}

/**
 * Takes the provider's events in its own time, and hands them over as a schedule says: late, twice, in another order.
 * What nobody fetches is lost.
 */
export class PostOffice {
  private readonly letters: Letter[] = [];
  private readonly server = createServer((request, response) => {
    void this.take(request).then(() => response.writeHead(204).end());
  });

  async open(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** Hands over the nth event, counted round, about one of these payments. */
  async handOver(nth: number, apiUrl: string, paymentIds: ReadonlySet<string>): Promise<void> {
    const about = this.about(paymentIds);
    if (about.length > 0) await send(about[nth % about.length]!, apiUrl);
  }

  async handOverAll(apiUrl: string, paymentIds: ReadonlySet<string>): Promise<void> {
    for (const letter of this.about(paymentIds)) await send(letter, apiUrl);
  }

  private about(paymentIds: ReadonlySet<string>): Letter[] {
    return this.letters.filter(({ paymentId }) => paymentIds.has(paymentId));
  }

  private async take(request: IncomingMessage): Promise<void> {
    const body = Buffer.concat((await request.toArray()) as Buffer[]);
    const { object } = (JSON.parse(body.toString()) as EventBody).data;
    const paymentId = object.payment_intent ?? object.id;
    this.letters.push({ body, signature: String(request.headers['stripe-signature']), paymentId });
  }
}

interface EventBody {
  readonly data: { readonly object: { readonly id: string; readonly payment_intent?: string } };
}

async function send({ body, signature }: Letter, apiUrl: string): Promise<void> {
  expect(await deliver(apiUrl, body, signature)).toEqual({ status: 204, code: undefined });
}
