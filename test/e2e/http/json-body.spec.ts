import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { ProbeModule } from '../../support/probe.module.js';
import { problemOf } from '../../support/problem.js';
import { ACME, startApi, type StartedApi } from '../../support/start-api.js';

describe('A JSON body', () => {
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

  const post = (body: string | Buffer, path = '/probe/echo', headers: Record<string, string> = {}) =>
    fetch(api.url + path, {
      method: 'POST',
      body,
      headers: { Authorization: `Bearer ${ACME.key}`, 'Content-Type': 'application/json', ...headers },
    });

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
    'is read where its type is %s',
    async (type) => {
      const response = await post('{"amount":1e2}', '/probe/echo', { 'Content-Type': type });
      expect(await response.json()).toEqual({ body: { amount: 100 } });
    },
  );

  it('is an empty object where there is none [F-12]', async () => {
    expect(await (await post('')).json()).toEqual({ body: {} });
    const bare = await fetch(`${api.url}/probe/echo`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${ACME.key}` },
    });
    expect(await bare.json()).toEqual({ body: {} });
  });

  it.each([
    ['a duplicate member', '{"amount":1,"amount":2}', 'amount'],
    ['a duplicate behind an escape', '{"amount":1,"\\u0061mount":1}', 'amount'],
    ['an integer beyond 2^53 - 1', '{"amount":9007199254740993}', 'amount'],
    ['a number that overflows', '{"amount":1e400}', 'amount'],
    [
      'a number that loses digits',
      '{"items":[{"unitAmount":0.12345678901234567890}]}',
      'items[0].unitAmount',
    ],
    ['half of a surrogate pair', '{"customer":{"name":"\\ud83d"}}', 'customer.name'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), undefined],
    ['what is not JSON', '{"amount":1', undefined],
  ])('is refused for %s, naming the place [F-7]', async (_name, body, param) => {
    const problem = await problemOf(await post(body));
    expect([problem.status, problem.code, problem.error['param']]).toEqual([400, 'invalid_json', param]);
  });

  it('is refused for U+0000, as nothing could store it [F-8]', async () => {
    const problem = await problemOf(await post('{"customer":{"name":"a\\u0000"}}'));
    expect([problem.status, problem.error['param']]).toEqual([400, 'customer.name']);
  });

  it('is refused for 50 000 nested arrays, and the service goes on [F-16]', async () => {
    const problem = await problemOf(await post('['.repeat(50_000) + ']'.repeat(50_000)));
    expect([problem.status, problem.code]).toEqual([400, 'invalid_json']);
    expect((await post('{}')).status).toBe(201);
  });

  it('stays the bytes that came where a route asks for them', async () => {
    const bytes = Buffer.from('{ "a": 1, "a": 2 }\n');
    expect(await (await post(bytes, '/probe/bytes', { 'Content-Type': 'text/plain' })).json()).toEqual({
      base64: bytes.toString('base64'),
    });
  });
});
