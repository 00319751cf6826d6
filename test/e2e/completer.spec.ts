import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AbandonedKeyStore, type AbandonedKey } from '../../src/idempotency/abandoned-key.store.js';
import { Attempt } from '../../src/idempotency/attempt.js';
import { Completer } from '../../src/idempotency/completer.js';
import { IdempotencyKeyStore } from '../../src/idempotency/idempotency-key.store.js';
import { post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { EngineModule, letTripsBook, Trip } from '../support/engine.module.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { ACME, GLOBEX, startApi, type StartedApi } from '../support/start-api.js';

const MAX_TRIES = 3;
const LEASE = 30;

/** Two processes' worth of the service on one database; rounds of their completers are run by hand. */
let db: TestDatabase;
let api: StartedApi;
let other: StartedApi;
let trip: Trip;
let completer: Completer;

const start = (settings: Record<string, string> = {}) =>
  startApi({ databaseUrl: db.url, ROLE: 'api', COMPLETER_MAX_TRIES: `${MAX_TRIES}`, ...settings }, [
    { module: EngineModule },
    { module: RecoveryParts },
  ]);

beforeAll(async () => {
  db = await createTestDatabase();
  await letTripsBook(db);
  [api, other] = [await start(), await start()];
  trip = api.app.get(Trip);
  completer = api.app.get(Completer);
});
afterAll(async () => {
  await api.stop();
  await other.stop();
  await db.drop();
});
beforeEach(async () => {
  await db.sql('TRUNCATE idempotency_keys, reviews');
  for (const { app } of [api, other]) {
    const fresh = { calls: [], phases: [], broken: true, says: undefined };
    Object.assign(app.get(Trip), fresh, { duringCall: () => Promise.resolve() });
  }
});

const go = (behaviour: string, key: string, apiKey = ACME.key) =>
  post(`${api.url}/probe/trips/${behaviour}`, {}, { key, apiKey });

/** A request that ended early, and whose client does not come back. */
async function abandon(behaviour = 'fine', key: string = randomUUID(), apiKey = ACME.key): Promise<string> {
  trip.says ??= behaviour === 'fine' ? { status: 'not_acted', reason: 'refused' } : undefined;
  expect((await go(behaviour, key, apiKey)).status).toBeGreaterThanOrEqual(500);
  trip.says = undefined;
  return key;
}

const row = async (key: string) =>
  (
    await db.sql<Record<string, unknown> & { seconds_off: number; lease: number | null }>(
      `SELECT *, extract(epoch FROM next_run_at - now())::float8 AS seconds_off,
              extract(epoch FROM locked_until - now())::float8 AS lease
         FROM idempotency_keys WHERE key = $1`,
      [key],
    )
  )[0]!;

/** Time moves by back-dating: the grace or the backoff is over, and so is the lease of whoever died. */
async function allDue(): Promise<void> {
  await db.sql(
    "UPDATE idempotency_keys SET next_run_at = now() - interval '1 s' WHERE status = 'in_progress'",
  );
  await db.sql(
    `UPDATE idempotency_keys SET locked_until = now() - interval '1 d'
      WHERE status = 'in_progress' AND locked_until IS NOT NULL`,
  );
}

async function nextRound(by = completer) {
  await allDue();
  return by.runOnce();
}

const NOTHING = { claimed: 0, finished: 0, putOff: 0, inReview: 0, lost: 0 };

describe('A key whose client is gone', () => {
  it('is finished from its recovery point, with its stored input; no committed phase is repeated [Q-1, Q-3]', async () => {
    const key = await abandon('error_in_last_phase');
    trip.broken = false;
    expect(await nextRound()).toEqual({ ...NOTHING, claimed: 1, finished: 1 });
    expect(trip.calls).toHaveLength(1);
    expect(trip.phases.filter((phase) => phase === 'started')).toHaveLength(1);
    expect(trip.phases.filter((phase) => phase === 'record')).toHaveLength(2); // rolled back with what came behind it, the first time
    const later = await go('error_in_last_phase', key);
    expect([later.status, later.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(later.body.note).toBe(`booked-${String((await row(key))['id'])}`);
  });

  it('is left to its client for the grace', async () => {
    const key = await abandon();
    expect(await completer.runOnce()).toEqual(NOTHING);
    expect((await row(key)).seconds_off).toBeGreaterThan(10 * LEASE - 5);
  });

  it('is left alone while an owner holds its lease', async () => {
    const key = await abandon();
    await db.sql(
      "UPDATE idempotency_keys SET next_run_at = now() - interval '1 s', locked_until = now() + interval '9 s'",
    );
    const before = await row(key);
    expect(await completer.runOnce()).toEqual(NOTHING);
    expect((await row(key))['version']).toBe(before['version']);
  });

  it('is claimed as by any owner: a new token, the next version, a lease [Q-3]', async () => {
    const key = await abandon();
    const before = await row(key);
    let during = before;
    trip.duringCall = async () => void (during = await row(key));
    await nextRound();
    expect(during['owner']).not.toBe(before['owner']);
    expect(during).toMatchObject({
      version: (before['version'] as number) + 1,
      attempts: (before['attempts'] as number) + 1,
    });
    expect(during.lease).toBeGreaterThan(LEASE - 5);
    expect(during.seconds_off).toBeGreaterThan(LEASE - 5); // whoever dies of it is not followed at once
  });

  it('of each tenant gets its turn', async () => {
    await abandon();
    await abandon('fine', undefined, GLOBEX.key);
    expect(await nextRound()).toEqual({ ...NOTHING, claimed: 2, finished: 2 });
  });
});

describe('Several owners at once', () => {
  const calledOnceEach = (count: number) => {
    const keys = [trip, other.app.get(Trip)].flatMap(({ calls }) =>
      calls.map(({ derivedKey }) => derivedKey),
    );
    expect([keys.length, new Set(keys).size]).toEqual([count, count]);
  };

  it('two completers share the keys: each is run by one of them [Q-3]', async () => {
    for (let n = 0; n < 30; n++) await abandon();
    trip.calls = [];
    await allDue();
    const counts = await Promise.all([completer, other.app.get(Completer)].map((each) => each.runOnce()));
    expect(counts.map(({ claimed }) => claimed).reduce((sum, claimed) => sum + claimed)).toBe(30);
    for (const { claimed, finished } of counts) expect(finished).toBe(claimed);
    calledOnceEach(30);
  });

  it('a client that comes back and the completer: one runs the key, and the client gets its reply [Q-3, C-1]', async () => {
    const keys = [];
    for (let n = 0; n < 20; n++) keys.push(await abandon());
    trip.calls = [];
    await allDue();
    const [, ...answers] = await Promise.all([completer.runOnce(), ...keys.map((key) => go('fine', key))]);
    expect(answers.filter(({ status }) => ![201, 409].includes(status))).toEqual([]);
    calledOnceEach(20);
    for (const key of keys) expect((await go('fine', key)).status).toBe(201);
    calledOnceEach(20);
  });

  it('finish what an outage has piled up a few keys at a time, four of a tenant', async () => {
    for (let n = 0; n < 12; n++) await abandon();
    let [running, most] = [0, 0];
    trip.duringCall = async () => {
      most = Math.max(most, ++running);
      await sleep(10);
      running -= 1;
    };
    expect(await nextRound()).toMatchObject({ finished: 12 });
    expect(most).toBe(4);
  });

  it('a completer that was thought dead changes nothing when it wakes', async () => {
    const key = await abandon();
    await allDue();
    const store = api.app.get(AbandonedKeyStore);
    const sleeper = attemptOf((await store.claim(ACME.tenant))!);
    await allDue();
    expect(await other.app.get(Completer).runOnce()).toMatchObject({ finished: 1 });
    const finished = await row(key);
    const end = { reason: 'late', inDoubt: true, counts: true };
    expect(await db.database.transaction((tx) => store.putOff(tx, sleeper, end))).toBe(0);
    expect(await row(key)).toMatchObject({ status: 'finished', version: finished['version'] });
  });
});

describe('A key that cannot be finished yet', () => {
  const { random } = Math;
  afterEach(() => void (Math.random = random));

  it('is tried again after a backoff that doubles up to an hour', async () => {
    Math.random = () => 1;
    const key = await abandon();
    const waits: number[] = [];
    trip.says = { status: 'not_acted', reason: 'refused' };
    for (let tries = 1; tries <= 9; tries++) {
      expect(await nextRound()).toEqual({ ...NOTHING, claimed: 1, putOff: 1 });
      waits.push(Math.round((await row(key)).seconds_off / 30) * 30);
    }
    expect(waits).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
  });

  it('is not tried again before the other system wants to be asked, which may be an hour', async () => {
    const wait = async (status: 'not_acted' | 'unknown', retryAfterSeconds: number, random: number) => {
      Math.random = () => random;
      const key = await abandon();
      trip.says = { status, reason: 'busy', retryAfterSeconds };
      expect(await nextRound()).toMatchObject({ putOff: 1 });
      const { seconds_off: seconds } = await row(key);
      await db.sql('TRUNCATE idempotency_keys');
      return Math.round(seconds);
    };
    expect(await wait('not_acted', 500, 0)).toBe(500);
    expect(await wait('not_acted', 500, 1)).toBe(500 + LEASE); // nor all at once when it does
    expect(await wait('unknown', 500, 0)).toBe(500);
    expect(await wait('unknown', 1e9, 1)).toBe(3_600);
  });

  it('is spread over the whole of that time', async () => {
    Math.random = () => 0.25;
    const key = await abandon();
    trip.says = { status: 'not_acted', reason: 'refused' };
    await nextRound();
    expect((await row(key)).seconds_off).toBeCloseTo(LEASE / 4, 0);
  });

  it('gets its grace anew when its client comes back', async () => {
    const key = await abandon();
    trip.says = { status: 'not_acted', reason: 'refused' };
    await nextRound();
    await go('fine', key);
    expect((await row(key)).seconds_off).toBeGreaterThan(10 * LEASE - 5);
  });

  it('never goes to a person for what surely did nothing, however often: the provider was away', async () => {
    const key = await abandon();
    trip.says = { status: 'not_acted', reason: 'refused' };
    for (let tries = 0; tries < 3 * MAX_TRIES; tries++) {
      expect(await nextRound()).toEqual({ ...NOTHING, claimed: 1, putOff: 1 });
    }
    expect(await row(key)).toMatchObject({ doubtful_tries: 0, last_error: 'refused', in_doubt: false });
    trip.says = undefined;
    expect(await nextRound()).toMatchObject({ finished: 1 });
    expect((await go('fine', key)).status).toBe(201);
  });
});

describe('A poison key', () => {
  const reviewOf = async (key: string) =>
    (
      await db.sql<{ reason: string; evidence: Record<string, unknown> }>(
        'SELECT reason, evidence FROM reviews WHERE subject_id = $1',
        [(await row(key))['id']],
      )
    )[0]!;

  /** The claim of a process that then dies: nothing more of it is heard. */
  async function claimAndDie(): Promise<void> {
    await allDue();
    expect(await api.app.get(AbandonedKeyStore).claim(ACME.tenant)).toBeDefined();
  }

  it('that always throws is put off, counts, and goes to a person at the cap; other keys are finished [Q-3, Q-4]', async () => {
    const key = await abandon('error_after_call');
    for (let tries = 1; tries < MAX_TRIES; tries++) {
      await abandon('fine');
      expect(await nextRound()).toEqual({ ...NOTHING, claimed: 2, finished: 1, putOff: 1 });
      expect((await row(key))['doubtful_tries']).toBe(tries);
    }
    await abandon('fine');
    // After its last try nothing is left to wait for: the same round asks a person.
    expect(await nextRound()).toEqual({ claimed: 3, finished: 1, putOff: 1, inReview: 1, lost: 0 });
    expect(await reviewOf(key)).toEqual({
      reason: 'tries_used_up',
      evidence: {
        operation: 'probe_trip',
        recoveryPoint: 'booked',
        derivedKey: `test:${String((await row(key))['id'])}:call`,
        attempts: MAX_TRIES + 2,
        lastError: 'Problem',
      },
    });
  });

  it('whose outcome stays unknown goes to a person at the cap; then nothing runs it, and its client is told [Q-4]', async () => {
    const key = await abandon();
    const unknown = { status: 'unknown', reason: 'timeout' } as const;
    trip.says = unknown;
    for (let tries = 1; tries < MAX_TRIES; tries++) {
      expect(await nextRound()).toEqual({ ...NOTHING, claimed: 1, putOff: 1 });
    }
    expect(await nextRound()).toEqual({ ...NOTHING, claimed: 2, putOff: 1, inReview: 1 });
    expect((await reviewOf(key)).evidence).toMatchObject({ lastError: 'not looked for' });
    trip.calls = [];
    const held = await go('fine', key);
    expect([held.status, held.body.code]).toEqual([409, 'idempotency_key_under_review']);
    await db.sql("UPDATE idempotency_keys SET next_run_at = now() - interval '9 d'");
    expect(await completer.runOnce()).toEqual(NOTHING);
    expect(trip.calls).toEqual([]);
  });

  it('that kills its process each time is put off by its claim, and goes to a person without another run [Q-3]', async () => {
    const key = await abandon();
    for (let tries = 1; tries <= MAX_TRIES; tries++) await claimAndDie();
    expect((await row(key)).seconds_off).toBeGreaterThan(LEASE);
    trip.calls = [];
    expect(await nextRound()).toEqual({ ...NOTHING, claimed: 1, inReview: 1 });
    expect(trip.calls).toEqual([]);
    expect((await reviewOf(key)).reason).toBe('tries_used_up');
  });

  it('that hangs is left behind, and holds up no other', async () => {
    const hasty = await start({ IDEMPOTENCY_LEASE_SECONDS: '3', IDEMPOTENCY_MAX_HOLD_SECONDS: '3.5' });
    const hanging = await abandon();
    const theirs = hasty.app.get(Trip);
    theirs.duringCall = () => (theirs.calls.length === 1 ? new Promise(() => undefined) : Promise.resolve());
    await allDue();
    await db.sql("UPDATE idempotency_keys SET next_run_at = now() - interval '1 h' WHERE key = $1", [
      hanging,
    ]);
    for (let n = 0; n < 9; n++) await abandon();
    expect(await nextRound(hasty.app.get(Completer))).toEqual({
      ...NOTHING,
      claimed: 10,
      finished: 9,
      lost: 1,
    });
    await hasty.stop();
  });

  it('that a person has decided to try again has all its tries before it', async () => {
    const key = await abandon();
    for (let tries = 1; tries <= MAX_TRIES; tries++) await claimAndDie();
    expect(await nextRound()).toMatchObject({ inReview: 1 });
    const { version } = await row(key);
    const { tenant } = ACME;
    const store = api.app.get(IdempotencyKeyStore);
    await db.database.transaction((tx) => store.reopen(tx, tenant, key, version as number, undefined));
    expect(await nextRound()).toEqual({ ...NOTHING, claimed: 1, finished: 1 });
  });

  it('of which any try failed past the window of the provider counts, whatever the cause [P-9]', async () => {
    const key = await abandon('error_in_last_phase');
    await db.sql("UPDATE idempotency_keys SET created_at = now() - interval '25 h'");
    const { app } = api;
    const end = { reason: 'ECONNREFUSED', inDoubt: false, counts: false };
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      await allDue();
      const store = app.get(AbandonedKeyStore);
      const attempt = attemptOf((await store.claim(ACME.tenant))!);
      expect(await db.database.transaction((tx) => store.putOff(tx, attempt, end))).toBe(1);
    }
    expect(await nextRound()).toMatchObject({ inReview: 1 });
    expect((await reviewOf(key)).evidence).toMatchObject({ lastError: 'ECONNREFUSED' });
  });
});

describe('A key from another build', () => {
  it.each(["recovery_point = 'from_the_future'", "operation = 'from_the_future'"])(
    'is left to a build that knows it, and goes to a person after an hour (%s)',
    async (change) => {
      const key = await abandon();
      await db.sql(`UPDATE idempotency_keys SET ${change}`);
      for (let tries = 1; tries <= 2 * MAX_TRIES; tries++) {
        expect(await nextRound()).toEqual({ ...NOTHING, claimed: 1, putOff: 1 });
      }
      expect(await row(key)).toMatchObject({ doubtful_tries: 0, status: 'in_progress' });
      await db.sql("UPDATE idempotency_keys SET unrecognised_since = now() - interval '61 min'");
      expect(await nextRound()).toEqual({ ...NOTHING, claimed: 1, inReview: 1 });
      const [review] = await db.sql<{ reason: string }>('SELECT reason FROM reviews');
      expect(review!.reason).toBe('recovery_point_unknown');
      expect(await row(key)).toMatchObject({ status: 'review' });
    },
  );

  it('is finished by a build that knows it, however long others did not', async () => {
    await abandon();
    await db.sql("UPDATE idempotency_keys SET recovery_point = 'from_the_future'");
    await nextRound();
    await db.sql(
      "UPDATE idempotency_keys SET recovery_point = 'booked', unrecognised_since = now() - interval '9 h'",
    );
    expect(await nextRound()).toMatchObject({ finished: 1 });
  });
});

function attemptOf(claimed: AbandonedKey): Attempt {
  return Attempt.resumed(ACME.tenant, claimed.key, claimed, performance.now());
}
