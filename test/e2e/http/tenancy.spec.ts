import { hashApiKey } from '../../../src/tenancy/api-keys.js';
import { SANDBOX_SECRET } from '../../../src/config/published.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { ProbeModule } from '../../support/probe.module.js';
import { problemOf } from '../../support/problem.js';
import { ACME, GLOBEX, startApi, type StartedApi } from '../../support/start-api.js';

describe('An API key', () => {
  let db: TestDatabase;
  let api: StartedApi;
  beforeAll(async () => {
    db = await createTestDatabase();
    api = await startApi({ databaseUrl: db.url }, [ProbeModule]);
  });
  afterAll(async () => {
    await api.stop();
    await db.drop();
  });

  const call = (authorization: string | undefined, path = '/probe/tenant', init: RequestInit = {}) =>
    fetch(api.url + path, {
      ...init,
      headers: { ...(authorization && { Authorization: authorization }), ...init.headers },
    });

  it.each([ACME, GLOBEX])('names its tenant: $tenant', async ({ tenant, key }) => {
    expect(await (await call(`Bearer ${key}`)).json()).toEqual({ id: tenant });
    expect(await (await call(`bearer  ${key}`)).json()).toEqual({ id: tenant });
  });

  it('gets the same refusal whatever is wrong with it [SC-4]', async () => {
    const wrong = [
      undefined,
      'Bearer',
      'Bearer ck_test_nobody',
      `Basic ${ACME.key}`,
      `Bearer ${ACME.key}x`,
      ACME.key,
    ];
    const refusals = await Promise.all(wrong.map(async (header) => problemOf(await call(header))));
    for (const { status, code, detail, response } of refusals) {
      expect({ status, code, detail }).toEqual({
        status: 401,
        code: 'unauthenticated',
        detail: refusals[0]!.detail,
      });
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  it('is asked for before the body, its type or the idempotency key are looked at [SC-4]', async () => {
    const bodies: RequestInit[] = [
      {
        body: '{"a":1,"a":2}',
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': '"unbalanced' },
      },
      { body: 'a=1', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
      { body: '['.repeat(50_000), headers: { 'Content-Type': 'application/json' } },
    ];
    for (const init of bodies) {
      const { status } = await problemOf(
        await call('Bearer ck_test_nobody', '/probe/validate', { method: 'POST', ...init }),
      );
      expect(status).toBe(401);
    }
  });

  it('is stored as a keyed hash, and nothing that would let anyone use it', async () => {
    const rows = await db.sql<{ hash: Buffer; prefix: string }>(
      "SELECT * FROM api_keys WHERE tenant_id = 'acme'",
    );
    expect(rows).toMatchObject([{ hash: hashApiKey(ACME.key, SANDBOX_SECRET), prefix: 'ck_test_' }]);
    expect(JSON.stringify(rows)).not.toContain(ACME.key);
  });

  it('works for at most five seconds after it was revoked', async () => {
    await db.sql("INSERT INTO tenants (id, name) VALUES ('initech', 'initech')");
    await db.sql('INSERT INTO api_keys (hash, tenant_id, prefix) VALUES ($1, $2, $3)', [
      hashApiKey('ck_test_initech', SANDBOX_SECRET),
      'initech',
      'ck_test_',
    ]);
    expect((await call('Bearer ck_test_initech')).status).toBe(200);
    await db.sql("UPDATE api_keys SET revoked_at = now() WHERE tenant_id = 'initech'");
    const revoked = performance.now();
    while ((await call('Bearer ck_test_initech')).status !== 401) {
      expect(performance.now() - revoked).toBeLessThan(5_000);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
});
