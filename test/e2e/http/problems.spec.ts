import { connect } from 'node:net';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { ProbeModule } from '../../support/probe.module.js';
import { problemOf } from '../../support/problem.js';
import { holdLock } from '../../support/locks.js';
import { ACME, GLOBEX, startApi, type StartedApi } from '../../support/start-api.js';

describe('Every error is a problem', () => {
  let db: TestDatabase;
  let api: StartedApi;
  beforeAll(async () => {
    db = await createTestDatabase();
    await db.sql(`DO $$ BEGIN EXECUTE format('ALTER ROLE %I IN DATABASE %I SET lock_timeout = 100',
                   current_user, current_database()); END $$`);
    api = await startApi({ databaseUrl: db.url }, [ProbeModule]);
  });
  afterAll(async () => {
    await api.stop();
    await db.drop();
  });

  const call = (path: string, init: RequestInit = {}) =>
    fetch(api.url + path, { ...init, headers: { Authorization: `Bearer ${ACME.key}`, ...init.headers } });
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    call(path, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } });

  it('404 for an unknown route, without the URL that was asked for [ERR-1, ERR-3]', async () => {
    const { status, code, error, response } = await problemOf(await call('/nowhere?email=ada@example.com'));
    expect([status, code]).toEqual([404, 'route_not_found']);
    expect(error).not.toHaveProperty('param');
    expect(JSON.stringify([...response.headers])).not.toContain('ada@example.com');
  });

  it('405 with Allow for a known route and another method [ERR-1]', async () => {
    const { status, code, response } = await problemOf(await call('/probe/items/1', { method: 'DELETE' }));
    expect([status, code]).toEqual([405, 'method_not_allowed']);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
  });

  it('413 for a body over 256 KiB, whether or not it says its length [ERR-1]', async () => {
    const large = `"${'x'.repeat(256 * 1024)}"`;
    expect((await problemOf(await post('/probe/echo', large))).status).toBe(413);
    const raw = await rawRequest(
      api.url,
      `POST /probe/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`,
    );
    expect(raw).toMatch(/^HTTP\/1.1 413 /);
    expect(raw).toContain('"code":"body_too_large"');
  });

  it.each([
    ['application/x-www-form-urlencoded', 'amount=1000'],
    ['text/plain', '{}'],
    ['application/json; charset=latin1', '{}'],
    ['application/jsonp', '{}'],
    ['application/problem+json', '{}'],
    ['nonsense', '{}'],
  ])('415 for a body of type %s [F-15]', async (type, body) => {
    const { status, code } = await problemOf(await post('/probe/echo', body, { 'Content-Type': type }));
    expect([status, code]).toEqual([415, 'unsupported_media_type']);
  });

  it('415 for a body without a type, and for a compressed one [F-15]', async () => {
    expect(
      (await problemOf(await call('/probe/echo', { method: 'POST', body: Buffer.from('{}') }))).status,
    ).toBe(415);
    const compressed = await post('/probe/echo', '{}', { 'Content-Encoding': 'gzip' });
    expect((await problemOf(compressed)).status).toBe(415);
  });

  it('400 for a request that fails validation, naming every member by its path [ERR-2, ERR-4]', async () => {
    const body = {
      email: 'no',
      items: [
        { sku: 'a', quantity: 0 },
        { sku: 7, quantity: 1, colour: 'red' },
      ],
      note: 1,
    };
    const { status, code, errors, error } = await problemOf(
      await post('/probe/validate', JSON.stringify(body)),
    );
    expect([status, code]).toEqual([400, 'validation_failed']);
    expect(errors).toEqual([
      { param: 'note', message: 'note is not a known member' },
      { param: 'email', message: 'email must be an email' },
      { param: 'items[0].quantity', message: 'items[0].quantity must not be less than 1' },
      { param: 'items[1].colour', message: 'items[1].colour is not a known member' },
      { param: 'items[1].sku', message: 'items[1].sku must be a string' },
    ]);
    expect(error['param']).toBe('note');
  });

  it.each(['[]', 'null', '1', '"{}"', '[{"email":"ada@example.com","items":[]}]'])(
    '400 for the body %s where an object is expected',
    async (body) => {
      const { status, errors } = await problemOf(await post('/probe/validate', body));
      expect([status, errors?.[0]?.param]).toEqual([400, 'body']);
    },
  );

  it.each(['sql', 'code', 'nothing'])(
    '500 for a failure of ours (%s), and not a word about its cause [ERR-5]',
    async (kind) => {
      const { status, code, error, response } = await problemOf(await call(`/probe/fail/${kind}`));
      expect([status, code, error['type']]).toEqual([500, 'internal_error', 'api_error']);
      const everything = JSON.stringify([error, [...response.headers]]);
      expect(everything).not.toMatch(/no_such_table|SELECT|sk_live|ada@|\/srv|node_modules|\.ts|\.js/);
    },
  );

  it('503 with Retry-After for a lock that is not let go of in time [ERR-6]', async () => {
    const release = await holdLock(db, 'api_keys');
    const headers = { Authorization: `Bearer ${GLOBEX.key}` }; // not looked up before, so it has to wait
    const { status, code, response } = await problemOf(await fetch(`${api.url}/probe/tenant`, { headers }));
    await release();
    expect([status, code, response.headers.get('retry-after')]).toEqual([503, 'store_unavailable', '1']);
  });

  it.each(['/probe/items/%ZZ', '/%', '/probe/%C3%28'])(
    '400 for a URL that cannot be decoded: %s',
    async (path) => {
      const raw = await rawRequest(api.url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(raw).toMatch(/^HTTP\/1.1 400 /);
      expect(raw).toMatch(/content-type: application\/problem\+json/i);
      expect(raw).toMatch(/request-id: req_/i);
      expect(raw).toContain('"code":"malformed_request"');
    },
  );

  it.each([
    [
      'a body that is longer than it says',
      'POST /probe/echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}',
      400,
    ],
    ['a control byte in a header', 'GET / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\x01b\r\n\r\n', 400],
    ['what is not HTTP at all', 'hello\r\n\r\n', 400],
    ['headers over 16 KiB', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  ])('a problem even for %s', async (_name, bytes, status) => {
    const raw = await rawRequest(api.url, bytes);
    expect(raw).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(raw).toMatch(/content-type: application\/problem\+json/i);
    expect(raw).toMatch(/request-id: req_/i);
    const [head, body] = raw.split('\r\n\r\n') as [string, string];
    expect(JSON.parse(body)).toMatchObject({ status });
    expect(Number(/content-length: (\d+)/i.exec(head)?.[1])).toBe(Buffer.byteLength(body));
  });

  it('no body to HEAD, even where its URL cannot be read', async () => {
    const raw = await rawRequest(api.url, 'HEAD /v1/orders/\xff HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(raw).toMatch(/^HTTP\/1.1 400 [^]*\r\n\r\n$/);
  });

  it.each([
    ['Authorization: Bearer a', 'Authorization: Bearer b'],
    ['Host: y', 'X: y'],
    ['Content-Type: application/json', 'content-type: text/plain'],
  ])('400 for a header that means one thing and was sent twice: %s, %s', async (...lines) => {
    const head = ['GET /v1/orders HTTP/1.1', 'Host: x', 'Connection: close', ...lines];
    const raw = await rawRequest(api.url, `${head.join('\r\n')}\r\n\r\n`);
    expect(raw).toMatch(/^HTTP\/1.1 400 /);
    expect(raw).toContain('was sent more than once');
  });

  it('no 400 in place of the answer to a request that was read well, whatever comes behind it', async () => {
    const head = ['POST /probe/echo HTTP/1.1', 'Host: x', `Authorization: Bearer ${GLOBEX.key}`];
    const body = ['Content-Type: application/json', 'Content-Length: 2', '', '{}'];
    const raw = await rawRequest(api.url, `${[...head, ...body].join('\r\n')}}and nonsense\r\n\r\n`);
    expect(raw).toMatch(/^HTTP\/1.1 201 /);
    expect(raw).toMatch(/connection: close/i);
    expect(raw).toContain('{"body":{}}');
    expect(raw).not.toContain('400');
  });

  it('never takes the request id from the client, and answers each request with its own', async () => {
    const mine = { headers: { 'Request-Id': 'req_mine', 'X-Request-Id': 'req_mine' } };
    const [first, second] = await Promise.all([call('/probe/tenant', mine), call('/nowhere', mine)]);
    const ids = [first.headers.get('request-id'), second.headers.get('request-id')];
    for (const id of ids) expect(id).toMatch(/^req_[0-9a-z]{26}$/);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it('sends headers that let a browser do nothing with an answer', async () => {
    for (const path of ['/probe/tenant', '/nowhere']) {
      const { headers } = await call(path);
      expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-powered-by')).toBeNull();
    }
  });
});

/** What no client library would send; resolves with all that came back. */
function rawRequest(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes, 'latin1'));
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('close', () => resolve(answer));
    socket.on('error', (error) => (answer ? resolve(answer) : reject(error)));
  });
}
