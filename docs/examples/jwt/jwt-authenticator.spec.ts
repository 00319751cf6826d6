import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { randomUUID } from 'node:crypto';
import { AppModule } from '../../../src/app.module.js';
import { loadConfig } from '../../../src/config/config.js';
import { createApp } from '../../../src/create-app.js';
import { TenancyModule } from '../../../src/tenancy/tenancy.module.js';
import { get, orderBody, post } from '../../../test/support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.js';
import { startScriptedServer, type ScriptedServer } from '../../../test/support/scripted-server.js';
import { environment } from '../../../test/support/start-api.js';
import { JwtAuthenticator, JwtSettings } from './jwt-authenticator.js';

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

let db: TestDatabase;
let issuer: ScriptedServer;
let keys: Pair;
let app: NestFastifyApplication;
let url: string;
beforeAll(async () => {
  [db, issuer, keys] = await Promise.all([
    createTestDatabase(),
    startScriptedServer(),
    generateKeyPair('RS256'),
  ]);
  [app, url] = await start();
  await issuerHas(keys);
});
afterAll(async () => {
  await app.close();
  await issuer.close();
  await db.drop();
});

/** The service, with its callers known by tokens of the issuer. */
async function start(): Promise<[NestFastifyApplication, string]> {
  const config = loadConfig(environment({ databaseUrl: db.url, LOG_LEVEL: 'silent', ROLE: 'api' }));
  const settings: JwtSettings = {
    issuer: issuer.url,
    audience: 'checkout',
    jwks: new URL('/jwks.json', issuer.url),
    tenantClaim: 'tenant_id',
  };
  const tenancy = TenancyModule.by(JwtAuthenticator, { provide: JwtSettings, useValue: settings });
  const started = await createApp(config, AppModule.for(config, tenancy));
  await started.listen(0, '127.0.0.1');
  return [started, await started.getUrl()];
}

async function issuerHas({ publicKey }: Pair): Promise<void> {
  const body = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' }] });
  issuer.answers({ status: 200, headers: { 'Content-Type': 'application/json' }, body });
}

const claims = (changes: JWTPayload = {}): JWTPayload => ({
  iss: issuer.url,
  aud: 'checkout',
  sub: 'ada',
  exp: Math.floor(Date.now() / 1_000) + 300,
  tenant_id: 'acme',
  ...changes,
});
const signed = (payload = claims(), { privateKey } = keys) =>
  new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(privateKey);
const order = (apiKey: string, key: string = randomUUID(), at = url) =>
  post(`${at}/v1/orders`, orderBody(), { apiKey, key });

describe('A token of the issuer', () => {
  it('speaks for the tenant that it names, whoever its user is', async () => {
    const ada = await order(await signed());
    expect(ada.status).toBe(201);
    const seen = async (apiKey: string) => (await get(`${url}/v1/orders/${ada.body.id}`, { apiKey })).status;
    expect(await seen(await signed(claims({ sub: 'grace' })))).toBe(200);
    expect(await seen(await signed(claims({ tenant_id: 'globex' })))).toBe(404);
  });

  it("uses its tenant's keys: the same key of a colleague is a replay, of another tenant another order", async () => {
    const key = randomUUID();
    const ada = await order(await signed(), key);
    const grace = await order(await signed(claims({ sub: 'grace' })), key);
    expect([grace.text, grace.headers.get('idempotent-replayed')]).toEqual([ada.text, 'true']);
    const stranger = await order(await signed(claims({ tenant_id: 'globex' })), key);
    expect([stranger.status, stranger.body.id === ada.body.id]).toEqual([201, false]);
  });

  it('makes its tenant known, without which no event of the provider for it would be taken', async () => {
    await order(await signed(claims({ tenant_id: 'initech' })));
    expect(await db.sql("SELECT id FROM tenants WHERE id = 'initech'")).toHaveLength(1);
  });
});

describe('What is no token for this service', () => {
  const hour = 3_600;
  const ago = (seconds: number) => Math.floor(Date.now() / 1_000) - seconds;

  it.each<[string, () => Promise<string> | string]>([
    ['has expired', () => signed(claims({ exp: ago(60) }))],
    ['never expires', () => signed(claims({ exp: undefined }))],
    ['is not valid yet', () => signed(claims({ nbf: ago(-hour) }))],
    ['is for another service', () => signed(claims({ aud: 'mail' }))],
    ['is of another issuer', () => signed(claims({ iss: 'https://elsewhere.example' }))],
    ['is signed by somebody else', async () => signed(claims(), await generateKeyPair('RS256'))],
    ['is not signed', () => new UnsecuredJWT(claims()).encode()],
    ['is signed with what everybody knows', () => signedWithPublicKey()],
    ['was changed', async () => changed(await signed())],
    ['names no tenant', () => signed(claims({ tenant_id: undefined }))],
    ['names a tenant that cannot be one', () => signed(claims({ tenant_id: 'a'.repeat(64) }))],
    ['names several tenants', () => signed(claims({ tenant_id: ['acme', 'globex'] }))],
    ['is an API key', () => 'ck_test_acme'],
    ['is not there', () => ''],
  ])('%s: 401, and nothing is done', async (_what, token) => {
    const key = randomUUID();
    const refused = await order(await token(), key);
    expect([refused.status, refused.body.code]).toEqual([401, 'unauthenticated']);
    expect(refused.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    expect(await db.sql('SELECT 1 FROM idempotency_keys WHERE key = $1', [key])).toEqual([]);
  });

  /** The public key taken for a secret: a verifier that believes the header would be fooled. */
  async function signedWithPublicKey(): Promise<string> {
    const secret = new TextEncoder().encode(JSON.stringify(await exportJWK(keys.publicKey)));
    return new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(secret);
  }

  function changed(token: string): string {
    const [header, , signature] = token.split('.');
    const payload = Buffer.from(JSON.stringify(claims({ tenant_id: 'globex' }))).toString('base64url');
    return `${header}.${payload}.${signature}`;
  }
});

describe('An issuer that is away', () => {
  it('is no reason to call a token wrong: 503, and the same request works once its keys can be had', async () => {
    const [fresh, at] = await start(); // has no keys yet
    try {
      const key = randomUUID();
      issuer.answers('cut');
      const refused = await fetch(`${at}/v1/orders`, {
        method: 'POST',
        headers: { authorization: `Bearer ${await signed()}`, 'idempotency-key': key },
      });
      expect([refused.status, refused.headers.get('should-retry')]).toEqual([503, 'true']);
      expect(await refused.json()).toMatchObject({ code: 'issuer_unavailable' });
      await issuerHas(keys);
      expect((await order(await signed(), key, at)).status).toBe(201);
    } finally {
      await fresh.close();
    }
  });
});
