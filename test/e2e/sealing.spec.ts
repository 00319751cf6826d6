import { randomBytes, randomUUID } from 'node:crypto';
import { SealedValues1764502200000 } from '../../migrations/1764502200000-sealed-values.js';
import { Completer } from '../../src/idempotency/completer.js';
import { checkoutBody, get, post, type Answer } from '../support/checkout.js';
import { decideReview, heldCheckout, listReviews, operate, OPERATORS } from '../support/operator.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { openShop, type Shop } from '../support/shop.js';
import { spawnApi, startApi, type StartedApi } from '../support/start-api.js';

const newKey = (): string => randomBytes(32).toString('base64');
const [ONE, TWO] = [`one:${newKey()}`, `two:${newKey()}`];

/** What must not be readable in the table of keys. */
const CANARIES = { email: 'canary@example.com', sku: 'canary-sku', amount: '7654321', card: 'pm_card_visa' };

const BODY = checkoutBody({
  customer: { email: CANARIES.email },
  items: [{ sku: CANARIES.sku, quantity: 1, unitAmount: Number(CANARIES.amount) }],
  paymentMethod: CANARIES.card,
});

/** Writes with the key `one`, and has no other. */
let shop: Shop;
const others = new Map<string, StartedApi>();
beforeAll(async () => {
  shop = await openShop(settings(ONE), [RecoveryParts]);
});
afterAll(async () => {
  for (const api of others.values()) await api.stop();
  await shop.close();
});
afterEach(async () => {
  await shop.provider.clearFaults();
  await shop.db.sql('TRUNCATE idempotency_keys, reviews');
});

function settings(sealingKeys: string) {
  return {
    ROLE: 'api',
    OPERATOR_TOKENS: Object.values(OPERATORS).join(', '),
    FAULTS: 'on',
    COMMIT_EVERY_PHASE: 'on',
    SEALING_KEYS: sealingKeys,
  } as const;
}

/** Another process on the same database, told other keys. */
async function by(sealingKeys: string): Promise<StartedApi> {
  const known = others.get(sealingKeys);
  if (known) return known;
  const urls = { databaseUrl: shop.db.url, providerUrl: shop.provider.url };
  const api = await startApi({ ...urls, ...settings(sealingKeys) }, [RecoveryParts]);
  others.set(sealingKeys, api);
  return api;
}

const checkout = (key: string, { url }: { url: string } = shop.api, headers = {}): Promise<Answer> =>
  post(`${url}/v1/checkouts`, BODY, { key, headers });

/** The provider acts, and does not say so. */
async function begun(key: string, api: StartedApi = shop.api): Promise<void> {
  await shop.provider.fault('drop_after', { times: 2 });
  await shop.provider.fault('search_down', { times: 1 });
  expect((await checkout(key, api)).status).toBe(503);
  await shop.provider.clearFaults();
}

/** One phase further, and no more. */
const advance = async (key: string, api: StartedApi) => {
  const answer = await checkout(key, api, { 'sandbox-fault': 'phase.after_commit:charge_created=throw' });
  expect(answer.status).toBe(500);
};

interface RawRow {
  readonly text: string;
  readonly status: string;
  readonly recovery_point: string;
  readonly sealed_with: string | null;
  readonly input: unknown;
  readonly state: unknown;
  readonly request: unknown;
  readonly reply_body: Buffer | null;
}

const rowOf = async (key: string): Promise<RawRow> =>
  (await shop.db.sql<RawRow>('SELECT *, k::text AS text FROM idempotency_keys k WHERE key = $1', [key]))[0]!;

/** Which canaries the row shows, to whoever reads it as it is, or takes base64 for what it is. */
async function shown(key: string): Promise<string[]> {
  const row = await rowOf(key);
  const base64 = [row.input, row.state, row.request].map((each) =>
    typeof each === 'string' ? Buffer.from(each, 'base64').toString('latin1') : '',
  );
  const all = [row.text, row.reply_body?.toString('latin1'), ...base64].join('\n');
  return Object.entries(CANARIES).flatMap(([name, value]) => (all.includes(value) ? [name] : []));
}

const chargesOf = async ({ body }: Answer) => (await shop.chargesOf(body.order.id)).length;

const endLease = (key: string) =>
  shop.db.sql("UPDATE idempotency_keys SET locked_until = now() - interval '1 s' WHERE key = $1", [key]);

const completedBy = async (api: StartedApi) => {
  await shop.db.sql("UPDATE idempotency_keys SET next_run_at = now() - interval '1 s'");
  return api.app.get(Completer, { strict: false }).runOnce();
};

describe('With SEALING_KEYS', () => {
  it('nothing that a client sent or was answered can be read in the table, from the first commit to the reply', async () => {
    const key = randomUUID();
    await begun(key);
    expect(await rowOf(key)).toMatchObject({
      sealed_with: 'one',
      recovery_point: 'order_created',
      input: expect.any(String),
      state: expect.any(String),
      request: expect.any(String),
    });
    expect(await shown(key)).toEqual([]);
    await advance(key, shop.api);
    expect(await rowOf(key)).toMatchObject({ sealed_with: 'one', recovery_point: 'charge_created' });
    expect(await shown(key)).toEqual([]);
    const answer = await checkout(key);
    expect([answer.status, await chargesOf(answer)]).toEqual([201, 1]);
    expect(await rowOf(key)).toMatchObject({ sealed_with: 'one', status: 'finished' });
    expect(await shown(key)).toEqual([]);
  });

  it('without it, the same rows show all of it', async () => {
    const plain = await by('');
    const key = randomUUID();
    await begun(key, plain);
    expect(await shown(key)).toEqual(['email', 'sku', 'amount', 'card']);
    expect((await checkout(key, plain)).status).toBe(201);
    expect(await shown(key)).toEqual(['email', 'sku', 'amount']);
    expect((await rowOf(key)).sealed_with).toBeNull();
  });

  it('a replay is the same, byte for byte, declines too', async () => {
    const declined = checkoutBody({ paymentMethod: 'pm_card_visa_chargeDeclined' });
    for (const [body, status] of [
      [BODY, 201],
      [declined, 402],
    ] as const) {
      const key = randomUUID();
      const [first, again] = [0, 1].map(() => () => post(`${shop.api.url}/v1/checkouts`, body, { key }));
      const answer = await first!();
      const replay = await again!();
      expect([answer.status, replay.status]).toEqual([status, status]);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect(replay.text).toBe(answer.text);
      expect(replay.headers.get('content-type')).toBe(answer.headers.get('content-type'));
    }
  });

  it('whoever takes over a process that was killed goes on with what it had sealed', async () => {
    const urls = { databaseUrl: shop.db.url, providerUrl: shop.provider.url };
    const dying = await spawnApi({ ...urls, ...settings(ONE) });
    const key = randomUUID();
    const headers = { 'sandbox-fault': 'call.after:charge=crash' };
    await expect(checkout(key, dying, headers)).rejects.toThrow();
    await dying.stop();
    expect(await shown(key)).toEqual([]);
    await endLease(key);
    const answer = await checkout(key);
    expect([answer.status, await chargesOf(answer)]).toEqual([201, 1]);
  });

  it('the completer finishes what its client left behind', async () => {
    const key = randomUUID();
    await begun(key);
    expect(await completedBy(shop.api)).toMatchObject({ claimed: 1, finished: 1 });
    const later = await checkout(key);
    expect([later.status, later.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(await shown(key)).toEqual([]);
  });

  it('a person decides about a sealed key as about any other', async () => {
    const held = await heldCheckout(shop);
    const decision = { decision: 'mark_succeeded', providerId: held.made!.id };
    expect((await decideReview(shop, held.review.id, decision)).status).toBe(200);
    const answer = await held.retry();
    expect([answer.status, answer.body.order.status]).toEqual([201, 'paid']);
  });
});

describe('Keys rotate while the service runs', () => {
  it('processes that write with different keys share one table, and what another wrote is sealed anew with the rest', async () => {
    const [before, after, last] = [await by(`${ONE},${TWO}`), await by(`${TWO},${ONE}`), await by(TWO)];
    const key = randomUUID();
    await begun(key, before);
    expect((await rowOf(key)).sealed_with).toBe('one');
    await advance(key, after);
    expect((await rowOf(key)).sealed_with).toBe('two');
    const answer = await checkout(key, last); // which could not read anything that is left of the first
    expect([answer.status, await chargesOf(answer)]).toEqual([201, 1]);
    expect((await checkout(key, before)).text).toBe(answer.text);
    expect((await checkout(key, after)).text).toBe(answer.text);
  });

  it('the option itself goes on and off: plain and sealed rows are read by all that have the key', async () => {
    const [plain, sealing, ending] = [await by(''), shop.api, await by(`plain,${ONE}`)];
    const key = randomUUID();
    await begun(key, plain);
    await advance(key, sealing);
    expect(await shown(key)).toEqual([]);
    const answer = await checkout(key, ending);
    expect([answer.status, await chargesOf(answer)]).toEqual([201, 1]);
    expect((await rowOf(key)).sealed_with).toBeNull();
    for (const api of [plain, sealing, ending]) expect((await checkout(key, api)).text).toBe(answer.text);

    const sealed = randomUUID();
    const kept = await checkout(sealed, sealing);
    expect((await checkout(sealed, ending)).text).toBe(kept.text);
  });

  it('the migration is not taken back while a row is sealed, as a build from before would send what it cannot read', async () => {
    await checkout(randomUUID());
    const runner = shop.db.database.dataSource.createQueryRunner();
    await runner.startTransaction();
    await expect(new SealedValues1764502200000().down(runner)).rejects.toThrow('Some keys are sealed');
    await runner.rollbackTransaction();
    await runner.release();
  });

  it('a key that has expired is new, whatever became of what sealed it', async () => {
    const key = randomUUID();
    const first = await checkout(key);
    await shop.db.sql("UPDATE idempotency_keys SET expires_at = now() - interval '1 s'");
    const again = await checkout(key, await by(TWO));
    expect(again.status).toBe(201);
    expect(again.body.order.id).not.toBe(first.body.order.id);
  });
});

const UNREADABLE = { status: 503, body: { code: 'sealed_value_unreadable' } };

describe('A process without the key', () => {
  let poor: StartedApi;
  beforeAll(async () => {
    poor = await by(TWO);
  });

  it('answers 503 in place of the reply, says which key, and runs nothing', async () => {
    const key = randomUUID();
    const answer = await checkout(key);
    const before = await rowOf(key);
    const refused = await checkout(key, poor);
    expect(refused).toMatchObject(UNREADABLE);
    expect(refused.body.detail).toContain('sealed with key one, which this process does not have');
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await rowOf(key)).toEqual(before);
    expect(await chargesOf(answer)).toBe(1);
  });

  it('takes no key over that it could not go on with', async () => {
    const key = randomUUID();
    await begun(key);
    const before = await rowOf(key);
    expect(await checkout(key, poor)).toMatchObject(UNREADABLE);
    expect(await checkout(key, await by(''))).toMatchObject(UNREADABLE);
    expect(await rowOf(key)).toEqual(before);
    expect((await checkout(key)).status).toBe(201);
  });

  it('goes on with all that needs nothing of what is sealed', async () => {
    const key = randomUUID();
    await checkout(key);
    const other = checkoutBody({ currency: 'usd' });
    expect((await post(`${poor.url}/v1/checkouts`, other, { key })).status).toBe(422);
    const read = await get(`${poor.url}/v1/idempotency-keys?key=${key}`);
    expect([read.status, read.body.status]).toEqual([200, 'finished']);
    expect((await fetch(`${poor.url}/health/ready`)).status).toBe(200);
    expect((await checkout(randomUUID(), poor)).status).toBe(201);
  });

  it('leaves an abandoned key to a process that has it, however often it comes by, and asks no person', async () => {
    const key = randomUUID();
    await begun(key);
    for (let round = 0; round < 25; round++)
      expect(await completedBy(poor)).toMatchObject({ claimed: 1, putOff: 1, inReview: 0 });
    await shop.db.sql("UPDATE idempotency_keys SET unrecognised_since = now() - interval '2 h'");
    expect(await completedBy(poor)).toMatchObject({ claimed: 1, putOff: 1 });
    expect(await rowOf(key)).toMatchObject({
      status: 'in_progress',
      doubtful_tries: 0,
      locked_until: null,
      last_error: expect.stringContaining('sealed with key one'),
    });
    expect((await listReviews(shop)).data).toEqual([]);
    expect(await completedBy(shop.api)).toMatchObject({ claimed: 1, finished: 1 });
    const answer = await checkout(key);
    expect([answer.status, await chargesOf(answer)]).toEqual([201, 1]);
  });

  it('takes no decision that it could not carry out: the review stays open', async () => {
    const held = await heldCheckout(shop);
    const decision = { decision: 'mark_succeeded', providerId: held.made!.id };
    expect(await decideReview({ ...shop, api: poor }, held.review.id, decision)).toMatchObject(UNREADABLE);
    expect((await listReviews(shop, '?status=open')).data).toHaveLength(1);
    expect((await decideReview(shop, held.review.id, decision)).status).toBe(200);
  });
});

describe('What was not sealed in that place does not open', () => {
  const expectRefused = async (key: string) => {
    const before = await rowOf(key);
    expect(await checkout(key)).toMatchObject(UNREADABLE);
    expect(await rowOf(key)).toEqual(before);
  };

  it('the reply of another key', async () => {
    const [one, other] = [randomUUID(), randomUUID()];
    const answers = [await checkout(one), await checkout(other)];
    await shop.db.sql(
      `UPDATE idempotency_keys SET reply_body = source.reply_body
         FROM (SELECT reply_body FROM idempotency_keys WHERE key = $2) AS source WHERE key = $1`,
      [one, other],
    );
    await expectRefused(one);
    expect((await checkout(other)).text).toBe(answers[1]!.text);
  });

  it.each([
    ['a reply with one bit changed', 'reply_body = set_bit(reply_body, 100, 1 - get_bit(reply_body, 100))'],
    ['a reply that was cut', 'reply_body = substring(reply_body FOR 20)'],
    ['a plain reply', `reply_body = '{"order":{"status":"paid"}}'`],
  ])('%s', async (_name, change) => {
    const key = randomUUID();
    await checkout(key);
    await shop.db.sql(`UPDATE idempotency_keys SET ${change} WHERE key = $1`, [key]);
    await expectRefused(key);
  });

  it.each([
    ['the frozen request in the place of the input', 'input = request'],
    ['a plain input', `input = '{"paymentMethod":"pm_card_visa"}'`],
    ['a state of nobody', `state = '"AAAA"'`],
  ])('%s; the completer leaves it alone as well', async (_name, change) => {
    const key = randomUUID();
    await begun(key);
    await shop.db.sql(`UPDATE idempotency_keys SET ${change} WHERE key = $1`, [key]);
    await expectRefused(key);
    expect(await completedBy(shop.api)).toMatchObject({ claimed: 1, putOff: 1 });
    expect(await rowOf(key)).toMatchObject({ status: 'in_progress', recovery_point: 'order_created' });
  });
});

describe('Erasing a person', () => {
  let email: string;
  beforeEach(() => {
    email = `${randomUUID()}@example.com`;
  });
  const ask = (path: string, { url } = shop.api) => {
    const body = { tenantId: 'acme', email: email.toUpperCase() };
    return operate(url, 'post', path, { body, token: OPERATORS.ada });
  };
  const preview = (api = shop.api) => ask('erasures/preview', api);
  const erase = (api = shop.api) => ask('erasures', api);
  const checkout = (key: string, { url } = shop.api, address = email) =>
    post(`${url}/v1/checkouts`, checkoutBody({ customer: { email: address } }), { key });
  /** There is no worker here that would send them. */
  const mailsAreGone = () => shop.db.sql('DELETE FROM outbox_messages');

  it('finds the replies that are sealed and those that are plain, and erases both', async () => {
    const [sealed, plain, stranger] = [randomUUID(), randomUUID(), randomUUID()];
    const strangers = await checkout(stranger, shop.api, `x${email}`);
    const answer = await checkout(sealed);
    await checkout(plain, await by(''));
    await mailsAreGone();
    expect((await preview()).body).toMatchObject({ replies: 2, obstacles: [] });

    expect((await erase()).body).toMatchObject({ replies: 2 });
    for (const key of [sealed, plain]) {
      expect(await checkout(key)).toMatchObject({ status: 410, body: { erasedStatus: 201 } });
      expect((await rowOf(key)).sealed_with).toBe('one');
    }
    expect((await checkout(sealed)).body.orderId).toBe(answer.body.order.id);
    expect((await checkout(stranger, shop.api, `x${email}`)).text).toBe(strangers.text);
    expect((await preview()).body).toMatchObject({ replies: 0 });
  });

  it('finds the keys that are under way, and waits for them', async () => {
    await shop.provider.fault('drop_after', { times: 2 });
    await shop.provider.fault('search_down', { times: 1 });
    expect((await checkout(randomUUID())).status).toBe(503);
    const { body } = await preview();
    expect(body.obstacles.map(({ kind }: { kind: string }) => kind)).toContain('key');
    expect((await erase()).status).toBe(409);
  });

  it('looks at every page of them, and gives up where one does not open: it may be about the person', async () => {
    const key = randomUUID();
    await checkout(key);
    await mailsAreGone();
    await shop.db.sql(
      `INSERT INTO idempotency_keys
       SELECT (jsonb_populate_record(k, jsonb_build_object('key', 'a-' || n, 'sealed_with', NULL, 'reply_body', '\\x7b7d'))).*
         FROM idempotency_keys k, generate_series(1, 450) AS n`,
    );
    expect((await preview()).body).toMatchObject({ replies: 1 });
    const poor = await by(TWO);
    expect(await preview(poor)).toMatchObject(UNREADABLE);
    expect(await erase(poor)).toMatchObject(UNREADABLE);
    expect((await erase()).body).toMatchObject({ replies: 1 });
  });
});
