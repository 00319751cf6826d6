import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { CodeRequest } from './door.js';

/** `lost`: it acted, and its answer is lost; `blind`: look-ups fail; `slow`: its answer waits until `go`. */
type Fault = 'lost' | 'blind' | 'slow';

export interface TestDoor {
  readonly url: string;
  /** What it issued, by key: one entry per effect. */
  readonly codes: Map<string, CodeRequest>;
  /** The key of each call that arrived. */
  readonly calls: string[];
  /** The next calls meet these, one each. */
  fault(...faults: Fault[]): void;
  /** Answers what was slow. */
  go(): void;
  close(): Promise<void>;
}

/** Real doors over HTTP, with faults of their own. */
export async function startDoor(): Promise<TestDoor> {
  const codes = new Map<string, CodeRequest>();
  const calls: string[] = [];
  const waiting: (() => void)[] = [];
  let faults: Fault[] = [];
  const nextIs = (kind: Fault) => faults[0] === kind && faults.shift() !== undefined;

  const server = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.method === 'GET') return find(new URL(request.url!, 'http://door').searchParams, response);
      const key = request.headers['idempotency-key'] as string;
      calls.push(key);
      if (!codes.has(key)) codes.set(key, JSON.parse(body) as CodeRequest);
      if (nextIs('lost')) return request.socket.destroy();
      const answer = () => send(response, 201, { code: codeOf(key) });
      if (nextIs('slow')) waiting.push(answer);
      else answer();
    });
  });
  const codeOf = (key: string) => `code-${[...codes.keys()].indexOf(key)}`;
  const find = (wanted: URLSearchParams, response: ServerResponse) => {
    if (nextIs('blind')) return send(response, 503, {});
    const found = [...codes].find(
      ([, { team, desk, day }]) => new URLSearchParams({ team, desk, day }).toString() === wanted.toString(),
    );
    send(response, found ? 200 : 404, found ? { code: codeOf(found[0]) } : {});
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    codes,
    calls,
    fault: (...next) => (faults = next),
    go: () => waiting.splice(0).forEach((answer) => answer()),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
