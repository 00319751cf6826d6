import { Logger } from '@nestjs/common';
import { connect, type ChannelModel, type ConfirmChannel } from 'amqplib';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrokerMessage } from './published-event.js';

/** Durable, by the first word of the routing key and the others: consumers bind their queues to it. */
export const EXCHANGE = 'checkout.events';

/** Together below the relay's limit for a delivery, so that its error can say what was waited for. */
const CONNECT_MS = 5_000;

/** A connection that is half open is given up after two of these. */
const HEARTBEAT_SECONDS = 10;

/** A broker that has gone does not answer the farewell. */
const FAREWELL_MS = 1_000;

/** A connection with one channel, on which the broker confirms what it has taken over. Lost once, it stays lost. */
export class ConfirmedChannel {
  private readonly logger = new Logger('RabbitMQ');
  /** The message ids that came back unrouted, until their confirmation, which follows; one may be there twice. */
  private readonly returned: string[] = [];
  private blocked: string | undefined;
  lost = false;

  private constructor(
    private readonly connection: ChannelModel,
    private readonly channel: ConfirmChannel,
  ) {
    connection.on('error', (err: Error) => this.logger.warn({ msg: 'connection lost', err }));
    connection.on('close', () => (this.lost = true));
    connection.on('blocked', (reason) => (this.blocked = reason));
    connection.on('unblocked', () => (this.blocked = undefined));
    channel.on('error', (err: Error) => this.logger.warn({ msg: 'channel closed', err }));
    channel.on('close', () => void this.close());
    channel.on('return', ({ properties }) => this.returned.push(properties.messageId as string));
  }

  static async open(url: string): Promise<ConfirmedChannel> {
    const connection = await connect(withHeartbeat(url), {
      timeout: CONNECT_MS,
      noDelay: true,
      clientProperties: { connection_name: 'checkout relay' },
    });
    const failed = (): void => undefined; // the promise below tells of it
    connection.on('error', failed);
    try {
      const channel = await connection.createConfirmChannel();
      channel.on('error', failed);
      await channel.assertExchange(EXCHANGE, 'topic', { durable: true });
      return new ConfirmedChannel(connection, channel);
    } catch (error) {
      await farewell(connection);
      throw error;
    }
  }

  /** Resolves once every queue it belongs to has it on disk. @throws where the broker refused it, or is gone */
  publish({ routingKey, content, options }: BrokerMessage): Promise<void> {
    if (this.blocked) throw new Error(`RabbitMQ takes no messages now: ${this.blocked}`);
    return new Promise((resolve, reject) => {
      this.channel.publish(EXCHANGE, routingKey, content, options, (error: Error | null) => {
        const unrouted = this.takeReturned(options.messageId);
        if (error) reject(new Error(`RabbitMQ has not confirmed it: ${error.message}`));
        else if (unrouted) reject(new Error(`No queue is bound to ${EXCHANGE} for ${routingKey}`));
        else resolve();
      });
    });
  }

  async close(): Promise<void> {
    this.lost = true;
    await farewell(this.connection);
  }

  private takeReturned(messageId: string): boolean {
    const at = this.returned.indexOf(messageId);
    if (at >= 0) this.returned.splice(at, 1);
    return at >= 0;
  }
}

function withHeartbeat(url: string): string {
  const amqp = new URL(url);
  if (!amqp.searchParams.has('heartbeat')) amqp.searchParams.set('heartbeat', String(HEARTBEAT_SECONDS));
  return amqp.href;
}

async function farewell(connection: ChannelModel): Promise<void> {
  const closed = connection.close().catch(() => undefined); // it is closed already
  await Promise.race([closed, sleep(FAREWELL_MS, undefined, { ref: false })]);
}
