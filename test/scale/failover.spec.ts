import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { requireReachable } from '../../src/database/cli/connection.js';
import { migrate } from '../../src/database/migrate.js';
import { Database } from '../../src/database/transaction.js';
import { asService } from '../support/app-role.js';
import type { TestDatabase } from '../support/database.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { expectBooksBalance, expectReceipts } from './books.js';
import { startFleet, type Fleet } from './fleet.js';
import { Load, recovery, replayOf, report } from './load.js';
import { startPostgresPair, type PostgresPair } from './postgres-pair.js';

/** Each of them says: ask again. */
const RETRYABLE = [409, 503];
const CARDS = ['pm_card_visa', 'pm_card_visa', 'pm_card_chargeDeclined'];

/** Until somebody notices that a primary is gone. */
const NOTICED_AFTER_MS = 2_000;
/** Enough tries for all of that, and for a busy machine. */
const PATIENT = { maxAttempts: 60, maxDelay: 1_000 };

describe('A primary that dies, and its synchronous standby', () => {
  let pair: PostgresPair;
  let provider: MockProvider;
  let mailbox: Mailbox;
  let fleet: Fleet;
  let db: TestDatabase;

  beforeAll(async () => {
    [pair, provider, mailbox] = await Promise.all([startPostgresPair(), startMockProvider(), startMailbox()]);
    await migrate(pair.url, { lease: 6, appUrl: asService(pair.url) });
    db = await databaseOf(pair.url);
    fleet = await startFleet({
      apis: 2,
      workers: 1,
      databaseUrl: pair.url,
      providerUrl: provider.url,
      smtpUrl: mailbox.smtpUrl,
      IDEMPOTENCY_LEASE_SECONDS: '6',
      COMPLETER_GRACE_SECONDS: '10',
    });
  });
  afterAll(async () => {
    await fleet.stop();
    await db.drop();
    await Promise.all([provider.stop(), mailbox.stop()]);
    await pair.stop();
  });

  it('lose nothing that was acknowledged, charge nobody twice, and cost clients retries', async () => {
    await provider.fault('delay', { times: 1_000_000, delayMs: 150 }); // so that the end finds calls under way
    const apis = fleet.apis.map(({ url }) => url);
    const load = new Load(apis, { customers: 12, cards: CARDS, ...PATIENT });
    await load.answers(60);
    const broken = await pair.killPrimary();
    await sleep(NOTICED_AFTER_MS);
    await pair.promoteStandby();
    await load.answers(60);
    const purchases = await load.stop();
    report('PostgreSQL failed over to its standby', recovery(purchases, [broken]));

    expect(load.retriedAfter).toContain(503);
    expect(load.retriedAfter.filter((reason) => !RETRYABLE.includes(Number(reason)))).toEqual([]);
    expect(purchases.filter(({ status }) => status === 402).length).toBeGreaterThan(10);
    await expectBooksBalance(db, provider, purchases);
    await expectReceipts(db, mailbox, purchases);
    const { calls } = (await provider.ledger()).charges[0]!;
    for (const purchase of purchases) expect(await replayOf(apis[0]!, purchase)).toEqual(purchase.reply);
    expect((await provider.ledger()).charges[0]!.calls).toBe(calls);
  });

  it('are one address to the commands; where neither takes writes they say so, and of which', async () => {
    await expect(requireReachable(pair.url)).resolves.toBeUndefined();
    const { port } = pair.primary; // gone by now
    const gone = pair.url.replace(String(pair.standby.port), String(port));
    await expect(requireReachable(gone)).rejects.toThrow(
      `DATABASE_URL does not lead to a database: no server takes writes (127.0.0.1:${port}: connect ECONNREFUSED`,
    );
  });
});

async function databaseOf(url: string): Promise<TestDatabase> {
  const [owner, service] = await Promise.all([connect(url), connect(asService(url))]);
  return {
    url,
    database: new Database(owner),
    secured: new Database(service),
    sql: <Row>(text: string, values: unknown[] = []) => owner.query<Row[]>(text, values),
    drop: async () => void (await Promise.all([owner.destroy(), service.destroy()])),
  };
}

function connect(url: string): Promise<DataSource> {
  const options = dataSourceOptions({ url, poolSize: 4 }, { entities: [], migrations: [] });
  return new DataSource(options).initialize();
}
