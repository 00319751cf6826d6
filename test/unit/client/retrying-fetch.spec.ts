import { NoAnswer } from '../../../src/client/no-answer.js';
import { retryingFetch, type Retry, type RetryOptions } from '../../../src/client/retrying-fetch.js';
import { FakeClock } from '../../support/fake-clock.js';
import { startScriptedServer, type ScriptedServer } from '../../support/scripted-server.js';

describe('What the client sends again', () => {
  let server: ScriptedServer;
  beforeAll(async () => {
    server = await startScriptedServer();
  });
  afterAll(() => server.close());

  const send = (options: RetryOptions = {}, init: RequestInit = keyed()) =>
    retryingFetch({ clock: new FakeClock(), ...options })(new Request(server.url, init));
  const keyed = (): RequestInit => ({
    method: 'POST',
    headers: { 'Idempotency-Key': 'order-1001:pay:1', 'Content-Type': 'application/json' },
    body: '{"amount":1}',
  });

  it.each([408, 409, 429, 500, 502, 503, 504])(
    'is a request that was answered %i, with the same key and the same bytes [CL-1, CL-2]',
    async (status) => {
      server.answers({ status }, { status }, { status: 201, body: '{"id":1}' });
      const response = await send();
      expect([response.status, await response.text()]).toEqual([201, '{"id":1}']);
      expect(server.requests).toHaveLength(3);
      for (const { method, headers, body } of server.requests)
        expect([method, headers['idempotency-key'], body]).toEqual([
          'POST',
          'order-1001:pay:1',
          '{"amount":1}',
        ]);
    },
  );

  it.each([200, 201, 204, 400, 401, 402, 403, 404, 405, 412, 413, 415, 422, 428])(
    'is not a request that was answered %i [CL-2]',
    async (status) => {
      server.answers({ status }, { status: 201 });
      expect((await send()).status).toBe(status);
      expect(server.requests).toHaveLength(1);
    },
  );

  it('is a request whose connection broke, and whose answer broke off in the middle [CL-2]', async () => {
    server.answers('cut', 'half', { status: 201, body: '{"id":1}' });
    const response = await send();
    expect([response.status, await response.text()]).toEqual([201, '{"id":1}']);
    expect(server.requests).toHaveLength(3);
  });

  it('is what the service says it is, whatever the status [CL-3]', async () => {
    server.answers({ status: 503, headers: { 'Should-Retry': 'false' } }, { status: 201 });
    expect((await send()).status).toBe(503);
    server.answers({ status: 409, headers: { 'Should-Retry': 'false' } }, { status: 201 });
    expect((await send()).status).toBe(409);
    server.answers({ status: 400, headers: { 'Should-Retry': 'true' } }, { status: 201 });
    expect((await send()).status).toBe(201);
    server.answers({ status: 500, headers: { 'Should-Retry': 'perhaps' } }, { status: 201 });
    expect((await send()).status).toBe(201);
  });

  it('is no POST without a key, whatever happens to it [CL-8]', async () => {
    const bare = { method: 'POST', body: '{}' };
    server.answers({ status: 503, headers: { 'Should-Retry': 'true' } }, { status: 201 });
    expect((await send({}, bare)).status).toBe(503);
    server.answers('cut', { status: 201 });
    await expect(send({}, bare)).rejects.toMatchObject({ attempts: 1, idempotencyKey: null });
    expect(server.requests).toHaveLength(1);
  });

  it.each(['GET', 'PUT', 'DELETE'])('is a %s, which needs none [CL-8]', async (method) => {
    server.answers('cut', { status: 503 }, { status: 200 });
    expect((await send({}, { method })).status).toBe(200);
  });

  describe('waits', () => {
    const waits = async (random: number, ...script: Parameters<ScriptedServer['answers']>) => {
      const clock = new FakeClock();
      server.answers(...script);
      await send({ clock, random: () => random });
      return clock.slept;
    };
    const busy = (retryAfter?: string) => ({
      status: 503,
      ...(retryAfter !== undefined && { headers: { 'Retry-After': retryAfter } }),
    });
    const done = { status: 201 };

    it('between nothing and twice as long each time, up to five seconds [CL-4]', async () => {
      const script = [busy(), busy(), busy(), busy(), busy(), done] as const;
      expect(await waits(1, ...script)).toEqual([500, 1_000, 2_000, 4_000, 5_000]);
      expect(await waits(0.5, ...script)).toEqual([250, 500, 1_000, 2_000, 2_500]);
      expect(await waits(0, ...script)).toEqual([0, 0, 0, 0, 0]);
    });

    it('never less than Retry-After, in seconds or as a date [CL-2, CL-4]', async () => {
      expect(await waits(0, busy('2'), done)).toEqual([2_000]);
      expect(await waits(1, busy('2'), busy('1'), done)).toEqual([2_500, 2_000]);
      expect(await waits(0, busy('Sat, 31 Jan 2026 12:00:07 GMT'), done)).toEqual([7_000]);
      expect(await waits(0, busy('Sat, 31 Jan 2026 11:59:00 GMT'), done)).toEqual([0]);
      expect(await waits(0, busy('soon'), done)).toEqual([0]);
    });
  });

  describe('ends', () => {
    it('after so many tries, with the last answer', async () => {
      const retries: Retry[] = [];
      server.answers({ status: 500 }, { status: 503, body: 'last' });
      const response = await send({
        maxAttempts: 3,
        random: () => 0.5,
        onRetry: (retry) => retries.push(retry),
      });
      expect([response.status, await response.text()]).toEqual([503, 'last']);
      expect(server.requests).toHaveLength(3);
      expect(retries.map(({ attempt, delay }) => [attempt, delay])).toEqual([
        [1, 250],
        [2, 500],
      ]);
    });

    it('before the deadline would pass, and gives no try more time than is left [CL-4]', async () => {
      const clock = new FakeClock();
      server.answers({ status: 409, headers: { 'Retry-After': '25' } });
      const response = await send({ clock, deadline: 60_000, attemptTimeout: 30_000, random: () => 0 });
      expect(response.status).toBe(409);
      expect(clock.slept).toEqual([25_000, 25_000]);
      expect(clock.timeouts).toEqual([30_000, 30_000, 10_000]);
    });

    it('with NoAnswer where none came: it names the key to ask under, and the cause [CL-6]', async () => {
      server.answers('cut');
      const error = await send({ maxAttempts: 2 }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(NoAnswer);
      expect(error).toMatchObject({
        idempotencyKey: 'order-1001:pay:1',
        attempts: 2,
        cause: { message: 'fetch failed' },
      });
      expect((error as Error).message).toContain('order-1001:pay:1');
    });

    it('where the caller wants no answer any more', async () => {
      const wish = new AbortController();
      const clock = new FakeClock(undefined, () => wish.abort(new Error('changed my mind')));
      server.answers({ status: 503 });
      await expect(send({ clock }, { ...keyed(), signal: wish.signal })).rejects.toThrow('changed my mind');
      expect(server.requests).toHaveLength(1);
      await expect(send({}, { ...keyed(), signal: wish.signal })).rejects.toThrow('changed my mind');
    });
  });

  describe('is refused', () => {
    it('where its deadline is not shorter than the time for which keys are kept [CL-4]', () => {
      const hours = (count: number) => count * 3_600_000;
      expect(() => retryingFetch({ deadline: hours(72) })).toThrow(RangeError);
      expect(() => retryingFetch({ deadline: hours(72) - 1 })).not.toThrow();
      expect(() => retryingFetch({ deadline: hours(25), retentionHours: 24 })).toThrow('24 hours');
    });

    it.each([{ maxAttempts: 0 }, { deadline: -1 }, { baseDelay: Number.NaN }, { attemptTimeout: undefined }])(
      'where it makes no sense: %j',
      (options) => {
        expect(() => retryingFetch(options as RetryOptions)).toThrow(RangeError);
      },
    );
  });

  it('may take no longer than its timeout, and is then sent again', async () => {
    const never = new FakeClock();
    let tries = 0;
    const clock = Object.assign(never, {
      timeout: () =>
        tries++ === 0
          ? AbortSignal.abort(new DOMException('too slow', 'TimeoutError'))
          : new AbortController().signal,
    });
    server.answers({ status: 201 });
    expect((await send({ clock })).status).toBe(201);
    expect(tries).toBe(2);
  });
});
