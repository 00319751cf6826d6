import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { SANDBOX_SECRET } from '../../src/config/published.js';
import { addApiKey, hashApiKey } from '../../src/tenancy/api-keys.js';
import { checkoutBody, post } from '../support/checkout.js';
import { OPERATORS } from '../support/operator.js';
import { refund } from '../support/refunds.js';
import { openShop, type Shop } from '../support/shop.js';
import { ACME, GLOBEX } from '../support/start-api.js';
import { thoroughly } from '../support/thoroughly.js';
import { kindOfId, resolved, ROUTES, takesKey, type Route, type Schema } from './routes.js';

/** Acme's words, each of which names Acme's data wherever it turns up. */
const REF = 'canary-ref';
const KEY = 'canary-key';
const SECRETS = [
  'canary-name',
  'canary-mail',
  'canary-metadata',
  'canary-sku',
  'canary-street',
  'canary-town',
];
const REVOKED = 'ck_test_acme_revoked';

let shop: Shop;
/** Of Acme, by prefix. */
let theirs: Readonly<Record<string, string>>;
beforeAll(async () => {
  shop = await openShop({ ROLE: 'api', OPERATOR_TOKENS: OPERATORS.ada });
  await addApiKey(shop.db.database, ACME.tenant, REVOKED, SANDBOX_SECRET);
  await shop.db.sql('UPDATE api_keys SET revoked_at = now() WHERE hash = $1', [
    hashApiKey(REVOKED, SANDBOX_SECRET),
  ]);
  theirs = await acmeTrades();
});
afterAll(() => shop.close());

async function acmeTrades(): Promise<Readonly<Record<string, string>>> {
  const { api, db } = shop;
  const body = checkoutBody({
    externalRef: REF,
    customer: { email: 'canary-mail@example.com', name: 'canary-name' },
    metadata: { note: 'canary-metadata' },
    items: [{ sku: 'canary-sku', quantity: 1, unitAmount: 7_777 }],
    shippingAddress: { line1: 'canary-street', city: 'canary-town', postalCode: '1', country: 'DE' },
  });
  const paid = await post(`${api.url}/v1/checkouts`, body, { key: KEY });
  const { order, charge } = paid.body;
  const refunded = await refund(api.url, charge.id, { amount: 7 }, { key: `${KEY}-refund` });
  await db.sql("UPDATE outbox_messages SET dead_at = now(), due_at = NULL, last_error = 'canary-mail'");
  await db.sql(
    `INSERT INTO reviews (tenant_id, id, subject_kind, subject_id, reason, evidence)
     VALUES ('acme', 'rev_00000000000000000000000001', 'event', 'evt_1', 'canary-name', '{}')`,
  );
  const [letter] = await db.sql<{ id: string }>('SELECT id FROM outbox_messages LIMIT 1');
  return {
    ord: order.id,
    ch: charge.id,
    re: refunded.body.id,
    rev: 'rev_00000000000000000000000001',
    msg: letter!.id,
  };
}

/** What asks for Acme's data wherever the route has room for a name. */
function request(route: Route, names: Names, token: string): [url: string, init: RequestInit] {
  const { ids, ref, key } = names;
  const path = route.path
    .replace('{id}', () => ids[kindOfId(route)!]!)
    .replace('{ref}', () => ref)
    .replace(/\{\w+\}/, (place) => unknownPlace(route, place));
  const query = new URLSearchParams();
  for (const { name } of route.parameters.filter((parameter) => parameter.in === 'query')) {
    if (name === 'key') query.set(name, key);
    if (name === 'cursor') query.set(name, ids['ord']!.replace(/.{4}$/, 'zzzz'));
  }
  const body = route.body && JSON.stringify(named(route.body, names));
  const headers = {
    Authorization: `Bearer ${token}`,
    ...(body && { 'Content-Type': 'application/json' }),
    ...(takesKey(route) && { 'Idempotency-Key': key }),
    ...(route.parameters.some(({ name, required }) => name === 'If-Match' && required) && {
      'If-Match': '*',
    }),
  };
  return [
    `${shop.api.url}${path}?${query.toString()}`.replace(/\?$/, ''),
    { method: route.method, headers, ...(body && { body }) },
  ];
}

interface Names {
  readonly ids: Readonly<Record<string, string>>;
  readonly ref: string;
  readonly key: string;
}

function unknownPlace({ name }: Route, place: string): never {
  throw new Error(`Say what of another tenant stands at ${place} of ${name}`);
}

/** The body that the description has as its example, with what names an order naming theirs. */
function named(given: Schema, names: Names): unknown {
  const schema = resolved(given);
  if (/^ord_/.test(schema['example'])) return names.ids['ord'];
  if (schema['example'] !== undefined)
    return schema['example'] === 'basket-1001' ? names.ref : schema['example'];
  if (schema['enum']) return schema['enum'][0];
  if (schema['format'] === 'currency') return 'eur';
  if (schema['type'] === 'array') return [named(schema['items'], names)];
  if (schema['type'] !== 'object') return 'x';
  const required: string[] = schema['required'] ?? [];
  const members = Object.entries<Schema>(schema['properties'] ?? {});
  const asked = members.filter(([name]) => required.includes(name) || name === 'externalRef');
  return Object.fromEntries(asked.map(([name, member]) => [name, named(member, names)]));
}

/** All that is Acme's, in whatever table: one that is new is compared without anybody thinking of it. When a key was last used is written later. */
async function rowsOfAcme(): Promise<Record<string, unknown>> {
  const tables = await shop.db.sql<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'tenant_id'",
  );
  const rows = tables.map(async ({ name }) => {
    const found = await shop.db.sql<{ row: string }>(
      `SELECT (to_jsonb(t) - 'last_used_at')::text AS row FROM "${name}" t WHERE tenant_id = 'acme' ORDER BY 1`,
    );
    return [name, found.map(({ row }) => row)] as const;
  });
  return Object.fromEntries(await Promise.all(rows));
}

/** What another tenant may learn: nothing is there, or its own work was done. */
function expected(route: Route): number[] {
  if (route.door === 'operator') return [403];
  if (route.door === 'signature') return [400];
  if (kindOfId(route) || JSON.stringify(route.body ?? {}).includes('CreateChargeDto')) return [404];
  if (route.method === 'GET') return route.parameters.some(({ name }) => name === 'key') ? [404] : [200];
  return [201];
}

const EVERY_ROUTE = ROUTES.map((route) => [route.name, route] as const);

describe("Another tenant's API key", () => {
  it.each(EVERY_ROUTE)(
    'gets nothing of Acme by its ids, keys, refs and cursors, and changes nothing: %s',
    async (_name, route) => {
      const before = await rowsOfAcme();
      const names: Names = { ids: theirs, ref: REF, key: KEY };
      await shop.db.sql("DELETE FROM idempotency_keys WHERE tenant_id = 'globex'");
      await shop.db.sql("UPDATE orders SET external_ref = NULL WHERE tenant_id = 'globex'");
      const [url, init] = request(route, names, GLOBEX.key);
      const answer = await fetch(url, init);
      const text = `${JSON.stringify([...answer.headers])} ${await answer.text()}`;
      expect(expected(route)).toContain(answer.status);
      expect(answer.headers.get('idempotent-replayed')).toBeNull();
      const sent = url + JSON.stringify(init);
      for (const word of [...SECRETS, REF, KEY, ...Object.values(theirs)])
        if (!sent.includes(word)) expect(text).not.toContain(word);
      expect(await rowsOfAcme()).toEqual(before);
    },
  );

  it.each(EVERY_ROUTE)('opens nothing once it is revoked, or where it is none: %s', async (_name, route) => {
    if (route.door === 'signature') return;
    const before = await rowsOfAcme();
    const tokens = [
      REVOKED,
      `${ACME.key}x`,
      ACME.key.slice(0, -1),
      ACME.key.toUpperCase(),
      '',
      "' OR '1'='1",
    ];
    for (const token of tokens) {
      const answer = await fetch(...request(route, { ids: theirs, ref: REF, key: KEY }, token));
      expect([token, answer.status]).toEqual([token, 401]);
      expect(await answer.text()).not.toMatch(/canary-(name|mail|metadata|sku|street|town)/);
    }
    expect(await rowsOfAcme()).toEqual(before);
  });
});

(thoroughly ? describe : describe.skip)('How long the answer takes', () => {
  const hidden = ROUTES.filter((route) => route.door === 'bearer' && expected(route).includes(404));

  it.each(hidden.map((route) => [route.name, route] as const))(
    'does not tell what is somebody else’s from what is nowhere: %s',
    async (_name, route) => {
      const first = await ratio(route);
      const differs = Math.abs(first - 1) > 0.05 ? await ratio(route) : first; // noise does not come twice
      expect(Math.abs(differs - 1)).toBeLessThanOrEqual(0.05);
    },
    300_000,
  );
});

const PAIRS = 1_000;

/** The medians of many, asked in turns and each of them first every other time: whatever slows the machine slows both. */
async function ratio(route: Route): Promise<number> {
  const nowhere = Object.fromEntries(
    Object.entries(theirs).map(([kind, id]) => [kind, id.replace(/.{12}$/, '000000000000')]),
  );
  const times: [number[], number[]] = [[], []];
  for (let pair = 0; pair < PAIRS; pair++)
    for (const side of pair % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const key = takesKey(route) ? randomUUID() : side === 0 ? KEY : 'nowhere-ke';
      const [url, init] = request(route, { ids: side === 0 ? theirs : nowhere, ref: REF, key }, GLOBEX.key);
      const began = performance.now();
      const answer = await fetch(url, init);
      await answer.arrayBuffer();
      times[side].push(performance.now() - began);
      expect(answer.status).toBe(404);
    }
  return median(times[0]) / median(times[1]);
}

function median(times: number[]): number {
  return times.sort((a, b) => a - b)[times.length >> 1]!;
}
