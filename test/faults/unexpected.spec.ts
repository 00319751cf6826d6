import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutBody, post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { environment, seedTenants, spawnApi, spawnMain, untilReady } from '../support/start-api.js';

let db: TestDatabase;
let provider: MockProvider;
beforeAll(async () => {
  [db, provider] = await Promise.all([createTestDatabase(), startMockProvider()]);
  await seedTenants(db.url);
});
afterAll(async () => {
  await provider.stop();
  await db.drop();
});

/** Code that is loaded before the service's, and has the bug. */
const WITH_A_BUG = (bug: string) =>
  `--import data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => { ${bug} })`)}`;

describe('An error that nobody caught', () => {
  it.each([
    ['thrown', "throw new Error('nobody caught this')"],
    ['rejected', "Promise.reject(new Error('nobody caught this'))"],
  ])('%s ends the process at once, in the logs; its key is taken up and charged once', async (_how, bug) => {
    const key = randomUUID();
    const port = String(await freePort());
    const options = { databaseUrl: db.url, providerUrl: provider.url, ROLE: 'api', PORT: port };
    const main = spawnMain({ ...environment(options), NODE_OPTIONS: WITH_A_BUG(bug) });
    const url = `http://127.0.0.1:${port}`;
    await untilReady(url);
    await provider.fault('delay', { delayMs: 2_000 });
    const made = (await provider.ledger()).charges.length;
    const cut = expect(post(`${url}/v1/checkouts`, checkoutBody(), { key })).rejects.toThrow();
    while ((await provider.ledger()).charges.length === made) await sleep(5);
    main.child.kill('SIGUSR2');
    expect(await main.exited).toBe(1);
    await cut;
    expect(main.logs()).toContain('nobody caught this');
    await expect(fetch(`${url}/health/live`)).rejects.toThrow();

    await db.sql("UPDATE idempotency_keys SET locked_until = now() - interval '1 s' WHERE key = $1", [key]);
    const successor = await spawnApi({ ...options, PORT: '0' });
    let answer = await post(`${successor.url}/v1/checkouts`, checkoutBody(), { key });
    while (answer.headers.get('should-retry') === 'true')
      answer = await post(`${successor.url}/v1/checkouts`, checkoutBody(), { key });
    expect(answer.status).toBe(201);
    expect((await provider.ledger()).charges).toHaveLength(made + 1);
    await successor.stop();
  });
});
