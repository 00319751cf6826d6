import { fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { call, PAY, type Form } from '../support/stripe-wire.js';

describe("The mock provider's memory", () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'mock-provider-'));
  });
  afterEach(() => rm(dataDir, { recursive: true }));

  const journal = () => join(dataDir, 'provider', 'ledger.jsonl');
  const pay = (mock: MockProvider, key: string, form: Form = {}) =>
    call(`${mock.url}/v1/payment_intents`, { ...PAY, ...form }, { 'Idempotency-Key': key });

  it.each(['stop', 'kill'] as const)('of charges, refunds, keys and calls survives a %s', async (end) => {
    const before = await startMockProvider({ dataDir });
    const paid = await pay(before, 'paid');
    await pay(before, 'declined', { payment_method: 'pm_card_chargeDeclined' });
    await before.fault('error_after');
    await pay(before, 'failed');
    await call(`${before.url}/v1/refunds`, { payment_intent: String(paid.body['id']) });
    const ledger = await before.ledger();
    await before[end]();

    const after = await startMockProvider({ dataDir });
    expect(await after.ledger()).toEqual(ledger);
    expect(await pay(after, 'paid')).toMatchObject({ status: 200, body: paid.body });
    expect((await pay(after, 'declined', { payment_method: 'pm_card_chargeDeclined' })).status).toBe(402);
    expect((await pay(after, 'failed')).status).toBe(500);
    expect((await after.ledger()).charges.map(({ calls }) => calls)).toEqual([2, 2, 2]);
    await after.stop();
  });

  it('of what it was told to forget survives a kill as well', async () => {
    const before = await startMockProvider({ dataDir });
    const kept = await pay(before, 'kept');
    const lost = await pay(before, 'lost');
    const refund = await call(`${before.url}/v1/refunds`, { payment_intent: String(kept.body['id']) });
    await before.forget(String(lost.body['id']));
    await before.forget(String(refund.body['id']));
    await expect(before.forget('pi_that_never_was')).rejects.toThrow('404');
    await before.kill();

    const after = await startMockProvider({ dataDir });
    const { charges, refunds } = await after.ledger();
    expect(charges.map(({ id }) => id)).toEqual([kept.body['id']]);
    expect(refunds).toEqual([]);
    const asked = await call(`${after.url}/v1/payment_intents/${String(lost.body['id'])}`);
    expect([asked.status, asked.body['error']]).toMatchObject([404, { code: 'resource_missing' }]);
    await after.stop();
  });

  it('drops the half line that a crash left, and goes on', async () => {
    const before = await startMockProvider({ dataDir });
    await pay(before, 'whole');
    await before.kill();
    await appendFile(journal(), '{"key":"half","intent":{"id":"pi_ha');

    const after = await startMockProvider({ dataDir });
    await pay(after, 'next');
    expect((await after.ledger()).charges.map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      'whole',
      'next',
    ]);
    await after.kill();
    const again = await startMockProvider({ dataDir });
    expect((await again.ledger()).charges).toHaveLength(2);
    await again.stop();
  });

  it('cancels an authorization that nobody captured for seven days [ST-4]', async () => {
    const before = await startMockProvider({ dataDir });
    const { body } = await pay(before, 'authorized', { capture_method: 'manual' });
    await before.stop();
    const created = body['created'] as number;
    const lines = await readFile(journal(), 'utf8');
    await writeFile(
      journal(),
      lines.replaceAll(`"created":${created}`, `"created":${created - 7 * 24 * 3600}`),
    );

    const after = await startMockProvider({ dataDir });
    const { body: aged } = await call(`${after.url}/v1/payment_intents/${String(body['id'])}`);
    expect(aged).toMatchObject({
      status: 'canceled',
      cancellation_reason: 'automatic',
      amount_capturable: 0,
    });
    await after.stop();
  });

  it('never holds a card number [TC-7]', async () => {
    const mock = await startMockProvider({ dataDir });
    await pay(mock, 'number', { payment_method: '4242424242424242' });
    await pay(mock, 'declined', { payment_method: '4000000000000002' });
    const refused = await pay(mock, 'unknown', { payment_method: '4111111111111111' });
    expect(JSON.stringify(refused.body)).not.toMatch(/\d{12}/);
    expect((await readFile(journal(), 'utf8')).match(/\b4\d{15}\b/)).toBeNull();
    await mock.stop();
  });
});

describe('The process of the mock provider', () => {
  const main = fileURLToPath(new URL('../../dist/src/sandbox/mock-provider/main.js', import.meta.url));
  const start = (port: string) =>
    fork(main, { env: { ...process.env, PROVIDER_PORT: port, DATA_DIR: '' }, execArgv: [], silent: true });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends on %s', async (signal) => {
    const child = start('0');
    await once(child.stdout!, 'data');
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('ends when whoever started it is gone', async () => {
    const child = start('0');
    await once(child.stdout!, 'data');
    child.disconnect();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('says which variable to set where its port is taken', async () => {
    const mock = await startMockProvider();
    const child = start(new URL(mock.url).port);
    const [words] = (await once(child.stderr!, 'data')) as [Buffer];
    expect(words.toString()).toContain('set PROVIDER_PORT');
    await mock.stop();
  });
});
