import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { SANDBOX_SECRET } from '../../src/config/published.js';
import { orderBody, post } from '../support/checkout.js';
import { createTestDatabase } from '../support/database.js';
import { openShop, type Shop } from '../support/shop.js';
import { startApi, type StartedApi } from '../support/start-api.js';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Key {
  readonly id: string;
  readonly prefix: string;
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
}

/** 256 bits would be enough; so is what the command makes, of which six characters may be seen. */
const API_KEY = /^ck_test_[a-z2-9]{40}$/;

const HASH_SECRET = 'a secret of the company that runs it, 32 and more';

describe('npm run tenants', () => {
  let shop: Shop;
  let second: StartedApi;
  beforeAll(async () => {
    shop = await openShop({ ROLE: 'api', HASH_SECRET });
    second = await startApi({ databaseUrl: shop.db.url, ROLE: 'api', HASH_SECRET });
  });
  afterAll(async () => {
    await second.stop();
    await shop.close();
  });

  function run(args: string, env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return promisify(execFile)(process.execPath, ['dist/src/tenancy/cli/tenants.js', ...args.split(' ')], {
      env: { DATABASE_URL: shop.db.url, HASH_SECRET, ...env },
    }).then(
      (output) => ({ code: 0, ...output }),
      (error: Ended) => error,
    );
  }

  const json = async <T>(args: string): Promise<T> => JSON.parse((await run(`${args} --json`)).stdout) as T;
  const keysOf = async (tenant: string) => (await json<{ keys: Key[] }>(`keys ${tenant}`)).keys;
  const make = (args: string) => json<{ apiKey: string; key: Key }>(args);
  const order = (apiKey: string, key: string, { url } = shop.api) =>
    post(`${url}/v1/orders`, orderBody(), { apiKey, key });

  it('makes a tenant and a key that works, shows the key once, and stores what nobody can use', async () => {
    const { stdout } = await run('create initech --name Initech');
    const [apiKey = ''] = stdout.split('\n');
    expect(apiKey).toMatch(API_KEY);
    expect((await order(apiKey, randomUUID())).status).toBe(201);

    const [key] = await keysOf('initech');
    expect(key).toMatchObject({
      id: expect.stringMatching(/^key_[0-9a-f]{12}$/),
      prefix: apiKey.slice(0, 14),
    });
    for (const shown of [await run('keys initech'), await run('keys initech --json')])
      expect(shown.stdout).not.toContain(apiKey.slice(14));
    const rows = await shop.db.sql('SELECT *, encode(hash, $1) FROM api_keys', ['escape']);
    expect(JSON.stringify(rows)).not.toContain(apiKey.slice(14));
  });

  it('rotates: another key, whose prefix is its own, for whom the replies of the first are replayed [SC-2]', async () => {
    const { apiKey: first, key: of } = await make('create umbrella');
    const key = randomUUID();
    const stored = await order(first, key);
    const { apiKey, key: made } = await make('rotate umbrella');
    expect(made.prefix).not.toBe(of.prefix);
    expect((await run('rotate umbrella')).stdout).toContain(`${of.id}  ${of.prefix}…`);

    const replayed = await order(apiKey, key);
    expect([replayed.status, replayed.text]).toEqual([201, stored.text]);
    expect(replayed.headers.get('idempotent-replayed')).toBe('true');
  });

  it('revokes: within five seconds no process knows the key, nor what was stored under it [SC-4]', async () => {
    const { apiKey, key: leaked } = await make('create hooli');
    const { apiKey: next } = await make('rotate hooli');
    const key = randomUUID();
    for (const api of [shop.api, second]) expect((await order(apiKey, key, api)).status).toBe(201);

    expect((await run(`revoke ${leaked.prefix}`)).stdout).toContain(`${leaked.id}  ${leaked.prefix}…`);
    const revoked = performance.now();
    for (const api of [shop.api, second]) {
      let answer = await order(apiKey, key, api);
      for (; answer.status !== 401; answer = await order(apiKey, key, api)) {
        expect(performance.now() - revoked).toBeLessThan(5_000);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(answer.body.code).toBe('unauthenticated');
      expect((await order(next, key, api)).headers.get('idempotent-replayed')).toBe('true');
    }
    const [{ revokedAt } = {}] = await keysOf('hooli');
    expect(revokedAt).toEqual(expect.any(String));
    expect(await json<Key>(`revoke ${leaked.id}`)).toMatchObject({ id: leaked.id, revokedAt });
  });

  it('asks which one where several keys have one prefix, and shows what a hand has written as text', async () => {
    await run('create stark');
    for (const hash of ['one', 'two'])
      await shop.db.sql(
        `INSERT INTO api_keys (hash, tenant_id, prefix) VALUES (sha256($1), 'stark', E'ck_\\x1b[2J')`,
        [hash],
      );
    const { stdout } = await run('keys stark');
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toContain('ck_\\u001b[2J');
    const { code, stderr } = await run('revoke ck_\u001b[2J');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/say which one by its id:\nkey_\w+ .*\nkey_/)]);
    expect(stderr).not.toContain('\u001b');
  });

  it('makes live keys where it is production', async () => {
    const { stdout } = await run('create live', { NODE_ENV: 'production' });
    expect(stdout).toMatch(/^ck_live_[a-z2-9]{40}\n/);
  });

  it.each([
    ['', {}, 2, /create <id>/],
    ['create', {}, 2, /create <id>/],
    ['create a b', {}, 2, /create <id>/],
    ['explode acme', {}, 2, /create <id>/],
    ['keys acme --all', {}, 2, /Unknown option/],
    ['create acme', {}, 1, /There is a tenant acme already/],
    ['create a/b', {}, 1, /1 to 63 letters, digits/],
    [`create ${'a'.repeat(64)}`, {}, 1, /1 to 63 letters, digits/],
    [`create nameless --name=${'n'.repeat(201)}`, {}, 1, /1 to 200 characters/],
    ['create nameless --name=a\nb', {}, 1, /1 to 200 characters/],
    ['keys nobody', {}, 1, /There is no tenant nobody/],
    ['rotate nobody', {}, 1, /There is no tenant nobody/],
    ['revoke key_0', {}, 1, /There is no key of that id or prefix/],
    ['keys acme', { HASH_SECRET: '' }, 1, /HASH_SECRET is not set/],
    ['keys acme', { HASH_SECRET: 'hunter2' }, 1, /HASH_SECRET must have at least 32/],
    ['keys acme', { HASH_SECRET: SANDBOX_SECRET, NODE_ENV: 'production' }, 1, /HASH_SECRET holds a secret/],
    ['keys acme', { DATABASE_URL: '' }, 1, /DATABASE_URL is not set/],
    [
      'keys acme',
      { DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:9/x' },
      1,
      /nothing listens on 127.0.0.1:9/,
    ],
  ])('says what is wrong in words, and no secret: "%s" %j', async (args, env, code, message) => {
    const ended = await run(args, env);
    expect([ended.code, ended.stdout + ended.stderr]).toEqual([code, expect.stringMatching(message)]);
    for (const secret of ['hunter2', HASH_SECRET, SANDBOX_SECRET, '    at '])
      expect(ended.stdout + ended.stderr).not.toContain(secret);
  });

  it('says that the schema is not there yet', async () => {
    const empty = await createTestDatabase({ empty: true });
    const { code, stderr } = await run('keys acme', { DATABASE_URL: empty.url });
    expect([code, stderr]).toEqual([1, expect.stringContaining('db:migrate')]);
    await empty.drop();
  });
});
