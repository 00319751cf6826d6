import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** How many bytes of an answer the client gets, given how long its head is, blank line included, and its body. */
export type Cut = (head: number, body: number) => number;

/** Stands between a client and an HTTP server, and lets answers break off. One request for each connection. */
export class HalfLine {
  private readonly server: Server;
  private cut: Cut | undefined;

  constructor(private readonly target: URL) {
    this.server = createServer((client) => void this.answer(client).catch(() => client.destroy()));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  /** The next answer breaks off where `cut` says. */
  cutNextAnswer(cut: Cut): void {
    this.cut = cut;
  }

  /** The end comes without a reset, which is harder: a client takes it for the end of the answer unless it has counted. */
  private async answer(client: Socket): Promise<void> {
    const cut = this.cut ?? ((head, body) => head + body);
    this.cut = undefined;
    const server = connect(Number(this.target.port), this.target.hostname);
    client.on('data', (chunk) => server.write(chunk));
    for (const socket of [client, server]) socket.on('error', () => socket.destroy());
    const answer = await wholeAnswer(server);
    const head = answer.indexOf('\r\n\r\n') + 4;
    client.end(answer.subarray(0, cut(head, answer.length - head)));
    server.destroy();
  }
}

/** Read by its Content-Length, so that what is cut off is known to have been there. */
async function wholeAnswer(server: Socket): Promise<Buffer> {
  let answer = Buffer.alloc(0);
  for await (const chunk of server as AsyncIterable<Buffer>) {
    answer = Buffer.concat([answer, chunk]);
    const [head = '', ...rest] = answer.toString('latin1').split('\r\n\r\n');
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1]);
    if (rest.join('\r\n\r\n').length === length) break;
  }
  return answer;
}
