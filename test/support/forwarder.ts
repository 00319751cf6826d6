import { connect, createServer, type Server, type Socket } from 'node:net';

/** Stands between the service and a server, on a port of its own, and can be taken away. */
export class Forwarder {
  /** Takes connections, and passes nothing on. */
  silent = false;
  /** How often anything came from a client, a new connection included. */
  arrivals = 0;
  /** Clients that were cut off while they waited for an answer. */
  brokenOff = 0;
  /** How many of the next answers are cut off. */
  lostAnswers = 0;
  /** After how many of their bytes. */
  lostAfter = 0;
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();
  private readonly waiting = new Set<Socket>();

  constructor(
    readonly port: number,
    private readonly target: { host: string; port: number },
  ) {}

  start(): Promise<void> {
    this.server = createServer((client) => this.forward(client));
    return new Promise((resolve) => this.server!.listen(this.port, '127.0.0.1', resolve));
  }

  /** Every connection is cut, and new ones are refused. */
  stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server!.close(() => resolve()));
    this.brokenOff += this.waiting.size;
    for (const socket of this.sockets) socket.destroy();
    return closed;
  }

  /** The server has answered, and the client will never know, or not all of it. */
  private lose(answer: Buffer, client: Socket): void {
    this.lostAnswers -= 1;
    client.write(answer.subarray(0, this.lostAfter));
    client.destroySoon();
  }

  private forward(client: Socket): void {
    const server = connect(this.target.port, this.target.host);
    this.arrivals += 1;
    client.on('data', () => {
      this.arrivals += 1;
      this.waiting.add(client);
    });
    client.on('close', () => this.waiting.delete(client));
    server.on('data', () => this.waiting.delete(client));
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(from);
      from.on('data', (chunk: Buffer) => {
        if (from === server && this.lostAnswers > 0) this.lose(chunk, client);
        else if (!this.silent) to.write(chunk);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
    }
  }
}
