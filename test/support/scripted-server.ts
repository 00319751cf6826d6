import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ScriptedServer {
  readonly url: string;
  /** What came, in order. */
  readonly requests: { method: string; headers: IncomingHttpHeaders; body: string }[];
  /** From now on: each request gets the next answer, and the last one for ever; `cut` is none, `half` breaks off. */
  answers(...script: (ScriptedAnswer | 'cut' | 'half')[]): void;
  close(): Promise<void>;
}

/** A real HTTP server that says what it is told to. */
export async function startScriptedServer(): Promise<ScriptedServer> {
  let script: (ScriptedAnswer | 'cut' | 'half')[] = [];
  const requests: ScriptedServer['requests'] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({
        method: request.method!,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      });
      const answer = script.length > 1 ? script.shift()! : script[0]!;
      if (answer === 'cut') request.socket.destroy();
      else if (answer === 'half') {
        response.writeHead(201, { 'Content-Length': '100' }).write('{"id":');
        setImmediate(() => request.socket.destroySoon());
      } else response.writeHead(answer.status, answer.headers).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answers: (...next) => {
      script = next;
      requests.length = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
