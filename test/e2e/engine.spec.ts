import { randomUUID } from 'node:crypto';
import { post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { EngineModule, letTripsBook, Trip } from '../support/engine.module.js';
import { startApi, type StartedApi } from '../support/start-api.js';

describe.each([
  ['phases joined', 'false'],
  ['every phase committed', 'true'],
])('The engine, with %s', (_name, commitEveryPhase) => {
  let db: TestDatabase;
  let api: StartedApi;
  let trip: Trip;

  beforeAll(async () => {
    db = await createTestDatabase();
    await letTripsBook(db);
    const options = { databaseUrl: db.url, ROLE: 'api', COMMIT_EVERY_PHASE: commitEveryPhase };
    api = await startApi(options, [{ module: EngineModule }]);
    trip = api.app.get(Trip);
  });
  afterAll(async () => {
    await api.stop();
    await db.drop();
  });
  beforeEach(() =>
    Object.assign(trip, { calls: [], phases: [], broken: true, duringCall: () => Promise.resolve() }),
  );

  const go = (behaviour: string, key: string) => post(`${api.url}/probe/trips/${behaviour}`, {}, { key });
  const row = async (key: string) =>
    (await db.sql<Record<string, unknown>>('SELECT * FROM idempotency_keys WHERE key = $1', [key]))[0];
  const notes = async (id: unknown) =>
    (
      await db.sql<{ id: string }>('SELECT id FROM tenants WHERE id LIKE $1 ORDER BY id', [`%${String(id)}`])
    ).map((note) => note.id.replace(`-${String(id)}`, ''));

  it('freezes the request, with its derived key, before the call is made [P-10, P-3, P-1]', async () => {
    const key = randomUUID();
    let during: Record<string, unknown> | undefined;
    trip.duringCall = async () => void (during = await row(key));
    expect((await go('fine', key)).status).toBe(201);
    const derivedKey = `test:${String(during!['id'])}:call`;
    expect(trip.calls).toEqual([{ request: { seat: '7A' }, derivedKey }]);
    expect(during).toMatchObject({
      recovery_point: 'booked',
      request: { seat: '7A' },
      request_step: 'call',
      request_derived_key: derivedKey,
      first_sent_at: expect.any(Date) as Date,
    });
  });

  it('leaves no trace of a 4xx that the first phase throws: the request runs again [E-1]', async () => {
    const key = randomUUID();
    const refused = await go('refused_in_first_phase', key);
    expect(refused.status).toBe(409);
    expect(refused.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await row(key)).toBeUndefined();
    trip.broken = false;
    expect((await go('refused_in_first_phase', key)).status).toBe(201);
  });

  it('leaves no trace of an error in the first phase either: 500, and the request runs again [E-1]', async () => {
    const key = randomUUID();
    expect((await go('error_in_first_phase', key)).status).toBe(500);
    expect(await row(key)).toBeUndefined();
    trip.broken = false;
    expect((await go('error_in_first_phase', key)).status).toBe(201);
  });

  it('stores a 4xx that a phase decides with a reply, as the bytes that were sent [E-1, E-7, R-7]', async () => {
    const key = randomUUID();
    const first = await go('final_refusal', key);
    const again = await go('final_refusal', key);
    expect([first.status, again.status]).toEqual([409, 409]);
    expect(again.text).toBe(first.text);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(trip.phases).toEqual(['started']);
    expect((await row(key))!['reply_body']).toEqual(Buffer.from(first.text));
  });

  it.each(['error_after_call', 'error_in_last_phase', 'sql_error_in_last_phase'])(
    'takes whatever is thrown after the first commit for its own fault: a 5xx that resumes (%s) [E-1, E-8, Q-1]',
    async (behaviour) => {
      const key = randomUUID();
      const broken = await go(behaviour, key);
      expect(broken.status).toBe(500);
      expect(broken.body.code).toBe('operation_interrupted');
      expect(broken.headers.get('retry-after')).toBe('1');
      expect(await row(key)).toMatchObject({ status: 'in_progress', locked_until: null });
      trip.broken = false;
      expect((await go(behaviour, key)).status).toBe(201);
      expect(new Set(trip.calls.map(({ derivedKey }) => derivedKey)).size).toBe(1);
      expect(trip.phases.filter((phase) => phase === 'started')).toHaveLength(1);
      expect(await notes((await row(key))!['id'])).toEqual(['booked', 'recorded']);
    },
  );

  it('records what a call did even where the phase behind it fails [Q-1]', async () => {
    const key = randomUUID();
    expect((await go('error_in_last_phase', key)).status).toBe(500);
    const { recovery_point, id } = (await row(key))!;
    expect(recovery_point).toBe('called');
    expect(await notes(id)).toEqual(['booked', 'recorded']);
    trip.broken = false;
    expect((await go('error_in_last_phase', key)).status).toBe(201);
    expect(trip.calls).toHaveLength(1);
  });

  it.each(['swallowed_error', 'swallowed_out_of_sight'])(
    'makes no call when a phase swallowed a database error (%s)',
    async (behaviour) => {
      const key = randomUUID();
      expect((await go(behaviour, key)).status).toBe(500);
      expect(trip.calls).toEqual([]);
      expect(await row(key)).toBeUndefined();
      trip.broken = false;
      expect((await go(behaviour, key)).status).toBe(201);
    },
  );

  it('replays an empty body and bytes that are no JSON exactly [R-8, R-1]', async () => {
    for (const [behaviour, status, bytes] of [
      ['no_content', 204, Buffer.alloc(0)],
      ['plain_text', 200, Buffer.from([0x66, 0xfc, 0x0a, 0x00])],
    ] as const) {
      const key = randomUUID();
      for (const replayed of [null, 'true']) {
        const response = await fetch(`${api.url}/probe/trips/${behaviour}`, {
          method: 'POST',
          headers: { authorization: 'Bearer ck_test_acme', 'idempotency-key': key },
        });
        expect(response.status).toBe(status);
        expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
        expect(response.headers.get('idempotent-replayed')).toBe(replayed);
      }
    }
  });

  it('keeps nothing of the input once the key is finished', async () => {
    const key = randomUUID();
    await go('fine', key);
    expect(await row(key)).toMatchObject({ input: null, state: null, request: null, status: 'finished' });
  });

  it('takes a key that has expired for a new one, whatever the body, and derives new keys [T-2, T-3, P-2]', async () => {
    const key = randomUUID();
    const first = await go('fine', key);
    const before = (await row(key))!;
    await db.sql("UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1", [key]);
    const second = await go('other', key);
    expect(second.status).toBe(201);
    expect(second.text).not.toBe(first.text);
    expect(second.headers.get('idempotent-replayed')).toBeNull();
    const after = (await row(key))!;
    expect(after['id']).not.toBe(before['id']);
    expect(after['version']).toBeGreaterThan(before['version'] as number);
    expect(new Set(trip.calls.map(({ derivedKey }) => derivedKey)).size).toBe(2);
  });

  it('runs a key that has just expired once, however many requests find it so [T-7]', async () => {
    const key = randomUUID();
    await go('fine', key);
    await db.sql("UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1", [key]);
    trip.calls = [];
    const answers = await Promise.all(Array.from({ length: 20 }, () => go('fine', key)));
    expect(new Set(answers.map(({ status }) => status))).not.toContain(500);
    expect(trip.calls).toHaveLength(1);
    expect(new Set(answers.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1);
  });

  it('keeps a finished key for 72 hours from its completion, also when it is replayed [T-1, T-8]', async () => {
    const key = randomUUID();
    await go('fine', key);
    const hours = async () =>
      (
        await db.sql<{ hours: number }>(
          'SELECT extract(epoch FROM expires_at - completed_at)::float8 / 3600 AS hours FROM idempotency_keys WHERE key = $1',
          [key],
        )
      )[0]!.hours;
    expect(await hours()).toBe(72);
    const before = await row(key);
    await go('fine', key);
    expect(await row(key)).toEqual(before);
  });

  it('holds a key in review, and answers 409 until a person has decided', async () => {
    const key = randomUUID();
    await go('error_in_last_phase', key);
    await db.sql("UPDATE idempotency_keys SET status = 'review' WHERE key = $1", [key]);
    const held = await go('error_in_last_phase', key);
    expect(held.status).toBe(409);
    expect(held.body.code).toBe('idempotency_key_under_review');
    expect(held.headers.get('retry-after')).toBe('60');
    expect(trip.calls).toHaveLength(1);
  });

  it('lets go of a key whose recovery point this build does not know', async () => {
    const key = randomUUID();
    await go('error_in_last_phase', key);
    await db.sql("UPDATE idempotency_keys SET recovery_point = 'from_the_future' WHERE key = $1", [key]);
    const answer = await go('error_in_last_phase', key);
    expect(answer.status).toBe(503);
    expect(answer.body.code).toBe('recovery_point_unknown');
    expect(await row(key)).toMatchObject({ status: 'in_progress', locked_until: null });
  });
});
