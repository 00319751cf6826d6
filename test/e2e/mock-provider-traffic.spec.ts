import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { call, PAY } from '../support/stripe-wire.js';

interface Moment {
  readonly n: number;
  readonly kind: string;
}

describe('What the mock provider has seen on the wire', () => {
  let mock: MockProvider;
  beforeAll(async () => {
    mock = await startMockProvider();
  });
  afterAll(() => mock.stop());

  async function traffic(after = 0): Promise<Moment[]> {
    const response = await fetch(`${mock.url}/_traffic?after=${after}`);
    return ((await response.json()) as { traffic: Moment[] }).traffic;
  }
  const pay = (key: string) =>
    call(`${mock.url}/v1/payment_intents`, PAY, { 'Idempotency-Key': key }).catch(() => undefined);

  it('is told call by call: when it came, under which key, and how it ended', async () => {
    await pay('one');
    await pay('one');
    const asked = { kind: 'asked', method: 'POST', url: '/v1/payment_intents', key: 'one' };
    expect(await traffic()).toMatchObject([
      { ...asked, n: 1 },
      { n: 2, kind: 'answered', to: 1, status: 200, replayed: false },
      { ...asked, n: 3 },
      { n: 4, kind: 'answered', to: 3, status: 200, replayed: true },
    ]);
  });

  it('says of a connection that broke that nothing was answered', async () => {
    const before = (await traffic()).length;
    await mock.fault('drop_after');
    await pay('two');
    expect((await traffic(before)).at(-1)).toMatchObject({ kind: 'answered', status: null });
  });
});
