import { randomUUID } from 'node:crypto';
import { checkoutBody, post } from '../support/checkout.js';
import { HalfLine, type Cut } from '../support/half-line.js';
import { openShop, type Shop } from '../support/shop.js';
import { ACME } from '../support/start-api.js';

let shop: Shop;
let line: HalfLine;
let url: string;
beforeAll(async () => {
  shop = await openShop({ ROLE: 'api' });
  line = new HalfLine(new URL(shop.api.url));
  url = await line.listen();
});
afterAll(async () => {
  await line.close();
  await shop.close();
});

const checkout = (key: string, paymentMethod = 'pm_card_visa') =>
  post(`${url}/v1/checkouts`, checkoutBody({ paymentMethod }), { key });

/** What a client reads that trusts its library, which is another one than that of `post`. */
async function fetched(key: string): Promise<unknown> {
  const response = await fetch(`${url}/v1/checkouts`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${ACME.key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
    },
    body: JSON.stringify(checkoutBody()),
  });
  return response.json();
}

const CUTS: [string, Cut][] = [
  ['in the middle of its head', (head) => Math.floor(head / 2)],
  ['after its head', (head) => head],
  ['in the middle of its body', (head, body) => head + Math.floor(body / 2)],
  ['before its last byte', (head, body) => head + body - 1],
];

describe('An answer that breaks off', () => {
  it.each(CUTS)(
    '%s is no success to the client, and the retry gets the stored bytes',
    async (_where, cut) => {
      const key = randomUUID();
      line.cutNextAnswer(cut);
      await expect(checkout(key)).rejects.toThrow();
      await expectStored(key, 201);
      line.cutNextAnswer(cut);
      await expect(fetched(key)).rejects.toThrow(); // the replay breaks off as well
      await expectStored(key, 201);
    },
  );

  it.each(CUTS)('%s is no decline either', async (_where, cut) => {
    const key = randomUUID();
    line.cutNextAnswer(cut);
    await expect(checkout(key, 'pm_card_chargeDeclined')).rejects.toThrow();
    await expectStored(key, 402, 'pm_card_chargeDeclined');
  });

  async function expectStored(key: string, status: number, paymentMethod?: string): Promise<void> {
    const [row] = await shop.db.sql<{ reply_body: Buffer }>(
      'SELECT reply_body FROM idempotency_keys WHERE key = $1',
      [key],
    );
    const answer = await checkout(key, paymentMethod);
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([status, 'true']);
    expect(answer.text).toBe(row!.reply_body.toString());
    const { charges } = await shop.provider.ledger();
    const [{ count }] = (await shop.db.sql<{ count: number }>(
      'SELECT count(*)::int FROM idempotency_keys WHERE reply_status = 201',
    )) as [{ count: number }];
    expect(charges.filter((charge) => charge.status === 'succeeded')).toHaveLength(count);
  }
});
