import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { checkoutBody } from '../support/checkout.js';
import { openShop, type Shop } from '../support/shop.js';
import { ACME } from '../support/start-api.js';

let shop: Shop;
beforeAll(async () => void (shop = await openShop({ ROLE: 'api' })));
afterAll(() => shop.close());

const body = JSON.stringify(checkoutBody());

function requestText(key: string, headers: Record<string, string> = {}): string {
  const all = {
    Host: 'localhost',
    Authorization: `Bearer ${ACME.key}`,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'Idempotency-Key': key,
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `POST /v1/checkouts HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Writes it all at once. @returns what came back, once the server has closed the connection */
async function exchange(text: string): Promise<string> {
  const { hostname, port } = new URL(shop.api.url);
  const socket = connect(Number(port), hostname);
  socket.write(text);
  return Buffer.concat((await socket.toArray()) as Buffer[]).toString();
}

interface WireAnswer {
  readonly status: number;
  readonly replayed: boolean;
  readonly body: string;
}

function answersIn(text: string): WireAnswer[] {
  return text
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter(Boolean)
    .map((answer) => ({
      status: Number(answer.slice(9, 12)),
      replayed: /^idempotent-replayed: true\r$/im.test(answer),
      body: answer.slice(answer.indexOf('\r\n\r\n') + 4),
    }));
}

const chargesMade = async () => (await shop.provider.ledger()).charges.length;

describe('One connection', () => {
  it('may bring the same key several times at once: one charge, and each answer is that reply or "in use"', async () => {
    const key = randomUUID();
    const before = await chargesMade();
    const texts = [requestText(key), requestText(key), requestText(key, { Connection: 'close' })];
    const answers = answersIn(await exchange(texts.join('')));
    expect(answers).toHaveLength(3);
    const [replay] = answersIn(await exchange(requestText(key, { Connection: 'close' })));
    expect([replay!.status, replay!.replayed]).toEqual([201, true]);
    const replies = answers.filter(({ status }) => status !== 409);
    expect(replies.length).toBeGreaterThanOrEqual(1);
    expect(new Set(replies.map((answer) => answer.body))).toEqual(new Set([replay!.body]));
    expect(await chargesMade()).toBe(before + 1);
  });

  it('that ends in the middle of a body is told so and let go, and has asked for nothing', async () => {
    const key = randomUUID();
    const before = await chargesMade();
    const { hostname, port } = new URL(shop.api.url);
    const socket = connect(Number(port), hostname);
    socket.end(requestText(key).slice(0, -10));
    const [told] = answersIn(Buffer.concat((await socket.toArray()) as Buffer[]).toString());
    expect(told!.status).toBe(400);
    expect(await shop.db.sql('SELECT 1 FROM idempotency_keys WHERE key = $1', [key])).toEqual([]);
    expect(await chargesMade()).toBe(before);
    const [whole] = answersIn(await exchange(requestText(key, { Connection: 'close' })));
    expect([whole!.status, whole!.replayed]).toEqual([201, false]);
  });
});
