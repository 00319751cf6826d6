import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What the proxy does to the next COMMIT: swallow it, or let it through and swallow its answer, or answer what no server says. */
type CommitFault = 'lose_commit' | 'lose_commit_answer' | 'garble_commit_answer';

/** A query message (PostgreSQL manual, 54.7) that says COMMIT. */
const COMMIT = Buffer.from('COMMIT\0');

/** A message of a kind that there is not. */
const UNHEARD_OF = Buffer.from([0x21, 0, 0, 0, 4]);

/** Stands between the applications and PostgreSQL, and breaks connections in the ways that networks do. */
export class DatabaseProxy {
  private readonly links = new Set<Link>();
  private readonly faults: CommitFault[] = [];
  private readonly server: Server;
  /** Connections that were cut, or found to be half-open by whoever used them; COMMITs that were lost, by how. */
  readonly met = { cut: 0, half_open: 0, lose_commit: 0, lose_commit_answer: 0, garble_commit_answer: 0 };

  constructor(private readonly target: { readonly host: string; readonly port: number }) {
    this.server = createServer((client) => this.accept(client));
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return (this.server.address() as AddressInfo).port;
  }

  /** @param chosen asked for each connection, one by one */
  cut(chosen: () => boolean = () => true): void {
    for (const link of this.links) {
      if (!chosen()) continue;
      if (!link.frozen) this.met.cut += 1;
      link.cut();
    }
  }

  /** Half-open: neither side hears another byte, and nobody is told. @param chosen as for `cut` */
  freeze(chosen: () => boolean = () => true): void {
    for (const link of this.links) if (chosen()) link.frozen = true;
  }

  /** Meets the next COMMITs, on any connection. */
  breakCommits(fault: CommitFault, times: number): void {
    for (let time = 0; time < times; time++) this.faults.push(fault);
  }

  heal(): void {
    this.faults.length = 0;
    for (const link of this.links) if (link.frozen) link.cut();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const link of this.links) link.cut();
    await closed;
  }

  private accept(client: Socket): void {
    const link = new Link(client, connect(this.target), {
      takeFault: () => this.takeFault(),
      onSilence: () => (this.met.half_open += 1),
    });
    this.links.add(link);
    link.onEnd(() => this.links.delete(link));
  }

  private takeFault(): CommitFault | undefined {
    const fault = this.faults.shift();
    if (fault) this.met[fault] += 1;
    return fault;
  }
}

interface LinkEvents {
  takeFault(): CommitFault | undefined;
  /** Something was said into a half-open connection, the first time. */
  onSilence(): void;
}

/** One connection of the application, and the one to PostgreSQL that it is passed on by. */
class Link {
  frozen = false;
  private answerLost = false;
  private answerGarbled = false;
  private unheard = false;

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    private readonly events: LinkEvents,
  ) {
    client.on('data', (chunk) => this.toServer(chunk));
    server.on('data', (chunk) => this.toClient(chunk));
    client.on('error', () => undefined);
    server.on('error', () => undefined);
    client.on('close', () => this.frozen || server.destroy());
    server.on('close', () => this.frozen || client.destroy());
  }

  onEnd(ended: () => void): void {
    let open = 2;
    for (const socket of [this.client, this.server]) socket.on('close', () => --open === 0 && ended());
  }

  cut(): void {
    this.client.destroy();
    this.server.destroy();
  }

  private toServer(chunk: Buffer): void {
    if (this.frozen) return this.hearNothing();
    if (this.answerLost) return;
    const fault = chunk.includes(COMMIT) ? this.events.takeFault() : undefined;
    if (fault === 'lose_commit') return this.cut();
    this.answerLost = fault === 'lose_commit_answer';
    this.answerGarbled = fault === 'garble_commit_answer';
    this.server.write(chunk);
  }

  private hearNothing(): void {
    if (!this.unheard) this.events.onSilence();
    this.unheard = true;
  }

  /** The answer is here, so PostgreSQL has done what it was asked; only the application does not hear of it. */
  private toClient(chunk: Buffer): void {
    if (this.answerLost) return this.cut();
    if (!this.frozen) this.client.write(this.answerGarbled ? UNHEARD_OF : chunk);
  }
}
