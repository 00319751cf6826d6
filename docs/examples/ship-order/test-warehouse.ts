import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Reservation } from './warehouse.js';

/** `drop_before`: it never heard of it; `drop_after`: it acted, and its answer is lost; `down`: 503; `no_lookups`: as it says. */
type Fault = 'drop_before' | 'drop_after' | 'down' | 'no_lookups';

export interface TestWarehouse {
  readonly url: string;
  readonly stock: Map<string, number>;
  /** What is held: one entry per effect. */
  readonly held: Map<string, Reservation>;
  /** The key of each call that arrived, in order. */
  readonly keys: string[];
  /** The next calls meet these, one each. */
  fault(...faults: Fault[]): void;
  close(): Promise<void>;
}

/** A real warehouse over HTTP: it has a stock, and answers a key that it knows as it did before. */
export async function startWarehouse(): Promise<TestWarehouse> {
  const [stock, held, answers] = [
    new Map<string, number>(),
    new Map<string, Reservation>(),
    new Map<string, Answer>(),
  ];
  const keys: string[] = [];
  let faults: Fault[] = [];
  const nextFault = (...kinds: Fault[]) =>
    faults[0] && kinds.includes(faults[0]) ? faults.shift() : undefined;

  const reserve = (reservation: Reservation): Answer => {
    const lacks = reservation.items.some(({ sku, quantity }) => (stock.get(sku) ?? 0) < quantity);
    if (lacks) return { status: 409, body: { code: 'out_of_stock' } };
    for (const { sku, quantity } of reservation.items) stock.set(sku, stock.get(sku)! - quantity);
    const reservationId = `rsv_${held.size + 1}`;
    held.set(reservationId, reservation);
    return { status: 201, body: { reservationId } };
  };
  const post = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await textOf(request);
    const fault = nextFault('drop_before', 'drop_after', 'down');
    if (fault === 'drop_before') return request.socket.destroy();
    if (fault === 'down') return send(response, { status: 503, body: {} });
    const key = request.headers['idempotency-key'] as string;
    keys.push(key);
    const answer = answers.get(key) ?? reserve(JSON.parse(body) as Reservation);
    answers.set(key, answer);
    if (fault === 'drop_after') request.socket.destroy();
    else send(response, answer);
  };
  const find = (url: string, response: ServerResponse) => {
    if (nextFault('no_lookups')) return send(response, { status: 503, body: {} });
    const orderId = decodeURIComponent(url.split('/').at(-1)!);
    const [found] = [...held].filter(([, reservation]) => reservation.orderId === orderId);
    send(response, found ? { status: 200, body: { reservationId: found[0] } } : { status: 404, body: {} });
  };

  const server = createServer((request, response) => {
    if (request.method === 'POST') void post(request, response);
    else find(request.url!, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stock,
    held,
    keys,
    fault: (...next) => (faults = next),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Answer {
  readonly status: number;
  readonly body: object;
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
