import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from '../../../src/app.module.js';
import { loadConfig } from '../../../src/config/config.js';
import { createApp } from '../../../src/create-app.js';
import { Draining } from '../../../src/http/draining.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { Forwarder } from '../../support/forwarder.js';
import { freePort } from '../../support/free-port.js';
import { ProbeModule } from '../../support/probe.module.js';
import { problemOf } from '../../support/problem.js';
import {
  ACME,
  environment,
  seedTenants,
  startApi,
  untilReady,
  type StartedApi,
} from '../../support/start-api.js';

const headers = { Authorization: `Bearer ${ACME.key}` };

describe('Readiness', () => {
  let db: TestDatabase;
  let api: StartedApi;
  beforeAll(async () => {
    db = await createTestDatabase();
    api = await startApi({ databaseUrl: db.url, DATABASE_POOL_SIZE: '2' }, [ProbeModule]);
  });
  afterAll(async () => {
    await api.stop();
    await db.drop();
  });

  const ready = () => fetch(`${api.url}/health/ready`);

  it('is asked and answered without an API key', async () => {
    expect(await (await ready()).json()).toEqual({ status: 'ok' });
    expect(await (await fetch(`${api.url}/health/live`)).json()).toEqual({ status: 'ok' });
  });

  it('does not wait behind a busy pool: ten slow requests on two connections cost it under 100 ms', async () => {
    const slow = Array.from({ length: 10 }, () => fetch(`${api.url}/probe/sleep/0.3`, { headers }));
    while ((await sleeping()) < 2);
    for (let i = 0; i < 5; i++) {
      const asked = performance.now();
      expect((await ready()).status).toBe(200);
      expect(performance.now() - asked).toBeLessThan(100);
    }
    expect(await sleeping()).toBe(2);
    for (const response of await Promise.all(slow)) expect(response.status).toBe(200);
  });

  const sleeping = async () => {
    const active = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'";
    return (await db.sql(active)).length;
  };
});

describe('A service that is shutting down', () => {
  it('is not ready, and sends what still comes over kept connections elsewhere', async () => {
    const db = await createTestDatabase();
    const api = await startApi({ databaseUrl: db.url }, [ProbeModule]);
    api.app.get(Draining).begin();
    expect((await fetch(`${api.url}/health/live`)).status).toBe(200);
    expect((await problemOf(await fetch(`${api.url}/health/ready`))).code).toBe('not_ready');
    const { status, code, response } = await problemOf(await fetch(`${api.url}/probe/tenant`, { headers }));
    expect([status, code, response.headers.get('connection')]).toEqual([503, 'shutting_down', 'close']);
    expect(response.headers.get('retry-after')).toBe('1');
    await api.stop();
    await db.drop();
  });
});

describe('A service whose database is away', () => {
  let db: TestDatabase;
  let forwarder: Forwarder;
  let app: NestFastifyApplication;
  let url: string;
  beforeAll(async () => {
    db = await createTestDatabase();
    await seedTenants(db.url);
    const target = new URL(db.url);
    forwarder = new Forwarder(await freePort(), { host: target.hostname, port: Number(target.port) });
    target.port = String(forwarder.port);
    const config = loadConfig(environment({ databaseUrl: target.href, LOG_LEVEL: 'silent' }));
    app = await createApp(config, { module: class Root {}, imports: [AppModule.for(config), ProbeModule] });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });
  afterAll(async () => {
    await app.close();
    await forwarder.stop();
    await db.drop();
  });

  const isAway = async () => {
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect((await problemOf(await fetch(`${url}/health/ready`))).code).toBe('not_ready');
    const { status, code, response } = await problemOf(await fetch(`${url}/probe/sleep/0`, { headers }));
    expect([status, code]).toEqual([503, 'store_unavailable']);
    expect(response.headers.get('retry-after')).toBe('1');
  };
  const isBack = async () => {
    await untilReady(url);
    expect((await fetch(`${url}/probe/sleep/0`, { headers })).status).toBe(200);
  };

  it('boots all the same, lives, is not ready, and answers 503 with Retry-After [C-13]', isAway);

  it('is ready by itself once the database is there', async () => {
    await forwarder.start();
    await isBack();
  });

  it('answers 503 again when the connection is cut, and recovers again [C-13]', async () => {
    await forwarder.stop();
    await isAway();
    await forwarder.start();
    await isBack();
  });

  it('is not ready while its database has no schema', async () => {
    await db.sql('ALTER TABLE orders RENAME TO gone');
    expect((await fetch(`${url}/health/ready`)).status).toBe(503);
    await db.sql('ALTER TABLE gone RENAME TO orders');
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  });
});
