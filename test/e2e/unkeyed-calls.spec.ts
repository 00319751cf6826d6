import { randomUUID } from 'node:crypto';
import { Controller, Injectable, Module, Post } from '@nestjs/common';
import { Completer } from '../../src/idempotency/completer.js';
import { Idempotent } from '../../src/idempotency/idempotent.decorator.js';
import {
  atomicPhase,
  foreignCall,
  operation,
  recoveryPoint,
  reply,
  type Point,
} from '../../src/idempotency/operation.js';
import { Operations } from '../../src/idempotency/operations.js';
import { post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { decideReview, OPERATORS, newestReview } from '../support/operator.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { startApi, type StartedApi } from '../support/start-api.js';

interface FaxPoints {
  started: Point<undefined>;
  written: Point<{ page: string }, { page: string }>;
}

type Sent = { status: 'done' } | { status: 'unknown' | 'not_acted'; reason: string; absent?: boolean };

const written = atomicPhase<object, undefined, FaxPoints>(async () =>
  recoveryPoint('written', { page: '1' }, { page: '1' }),
);

const call = (fax: Fax) => ({
  step: 'fax',
  keyed: false as const,
  call: async (): Promise<Sent> => {
    fax.sends++;
    return fax.says;
  },
  record: async () => reply(201, { faxed: true }),
  notMade: { status: 'done' } as const,
});

/** The other system knows no keys: what is sent to it twice arrives twice. */
@Injectable()
class Fax {
  sends = 0;
  lookUps = 0;
  says: Sent = { status: 'done' };
  isFound: Sent = { status: 'done' };

  readonly operation = operation<object, FaxPoints>('fax', {
    started: written,
    written: foreignCall({
      ...call(this),
      find: async (): Promise<Sent> => {
        this.lookUps++;
        return this.isFound;
      },
    }),
  });
}

/** The same, where nobody can even look. */
@Injectable()
class BlindFax {
  readonly operation;
  constructor(fax: Fax) {
    this.operation = operation<object, FaxPoints>('blind_fax', {
      started: written,
      written: foreignCall(call(fax)),
    });
  }
}

@Controller('probe')
class FaxController {
  @Post('fax')
  @Idempotent(Fax)
  fax() {
    return {};
  }

  @Post('blind-fax')
  @Idempotent(BlindFax)
  blindFax() {
    return {};
  }
}

@Module({ controllers: [FaxController], providers: [Fax, BlindFax] })
class FaxModule {
  constructor(operations: Operations, fax: Fax, blind: BlindFax) {
    operations.register(fax.operation);
    operations.register(blind.operation);
  }
}

let db: TestDatabase;
let api: StartedApi;
let fax: Fax;
beforeAll(async () => {
  db = await createTestDatabase();
  const settings = { databaseUrl: db.url, ROLE: 'api', OPERATOR_TOKENS: OPERATORS.ada };
  api = await startApi(settings, [{ module: FaxModule }, { module: RecoveryParts }]);
  fax = api.app.get(Fax);
});
afterAll(async () => {
  await api.stop();
  await db.drop();
});
beforeEach(async () => {
  await db.sql('TRUNCATE idempotency_keys, reviews');
  Object.assign(fax, { sends: 0, lookUps: 0, says: { status: 'done' }, isFound: { status: 'done' } });
});

const send = (key: string, route = 'fax') => post(`${api.url}/probe/${route}`, {}, { key });
const UNKNOWN: Sent = { status: 'unknown', reason: 'the line went dead' };
const NOT_FOUND: Sent = { status: 'unknown', reason: 'no such page', absent: true };

describe('A call to a system that takes no key', () => {
  it('is made once, and what came of it is looked up where the answer is lost [Q-7]', async () => {
    fax.says = UNKNOWN;
    expect((await send(randomUUID())).status).toBe(201);
    expect(fax).toMatchObject({ sends: 1, lookUps: 1 });
  });

  it('is not made again while nobody knows what came of it, by the client nor the completer [Q-7]', async () => {
    Object.assign(fax, { says: UNKNOWN, isFound: NOT_FOUND });
    const key = randomUUID();
    for (let n = 0; n < 3; n++) expect((await send(key)).body.code).toBe('outcome_unknown');
    await db.sql("UPDATE idempotency_keys SET next_run_at = now() - interval '1 s'");
    expect(await api.app.get(Completer).runOnce()).toMatchObject({ putOff: 1 });
    fax.isFound = { status: 'done' };
    expect((await send(key)).status).toBe(201);
    expect(fax).toMatchObject({ sends: 1, lookUps: 5 });
  });

  it('is not made again by whoever comes after a process that died with it [Q-7]', async () => {
    Object.assign(fax, { says: UNKNOWN, isFound: UNKNOWN });
    const key = randomUUID();
    await send(key);
    await db.sql(
      "UPDATE idempotency_keys SET in_doubt = false, locked_until = now() - interval '1 s' WHERE key = $1",
      [key],
    );
    await send(key);
    expect(fax.sends).toBe(1);
  });

  it('is made again where it surely did nothing', async () => {
    fax.says = { status: 'not_acted', reason: 'engaged' };
    const key = randomUUID();
    expect((await send(key)).body.code).toBe('provider_unavailable');
    fax.says = { status: 'done' };
    expect((await send(key)).status).toBe(201);
    expect(fax).toMatchObject({ sends: 2, lookUps: 0 });
  });

  it('is a question for a person at once where nobody can look, also after they say `retry` [Q-7]', async () => {
    fax.says = UNKNOWN;
    const key = randomUUID();
    expect((await send(key, 'blind-fax')).body.code).toBe('idempotency_key_under_review');
    const review = await newestReview(api.url);
    expect(review.reason).toBe('outcome_cannot_be_found');
    await decideReview({ api } as never, review.id, { decision: 'retry' });
    expect((await send(key, 'blind-fax')).body.code).toBe('idempotency_key_under_review');
    const again = await newestReview(api.url);
    expect(again.id).not.toBe(review.id);
    await decideReview({ api } as never, again.id, { decision: 'mark_failed' });
    expect((await send(key, 'blind-fax')).status).toBe(201); // what this operation makes of it
    expect(fax.sends).toBe(1);
  });
});
