import { migrate } from '../../src/database/migrate.js';
import { asService } from '../support/app-role.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { expectLedgersAgree, refund } from '../support/refunds.js';
import { expectBooksBalance, expectReceipts } from './books.js';
import { Member } from './fleet.js';
import { Load, replayOf } from './load.js';
import { buildOf, commitBeforeNewestMigration, type PreviousBuild } from './previous-build.js';
import { describeWith } from './programs.js';

const COMMIT = commitBeforeNewestMigration();

describeWith('history of the newest migration', COMMIT, 'A build that is rolled out', (commit) => {
  let db: TestDatabase;
  let provider: MockProvider;
  let mailbox: Mailbox;
  let previous: PreviousBuild;
  const members: Member[] = [];

  beforeAll(async () => {
    [db, provider, mailbox, previous] = await Promise.all([
      createTestDatabase({ empty: true }),
      startMockProvider(),
      startMailbox(),
      buildOf(commit),
    ]);
  });
  afterAll(async () => {
    await Promise.all(members.map((member) => member.kill()));
    await Promise.all([provider.stop(), mailbox.stop(), db.drop(), previous.remove()]);
  });

  const start = async (role: Member['role'], program?: string) => {
    const options = { databaseUrl: db.url, providerUrl: provider.url, smtpUrl: mailbox.smtpUrl };
    const member = new Member(role, await freePort(), options, program);
    members.push(member);
    await member.start();
    return member;
  };

  it('changes the schema under the one before it and serves beside it: no client is sent away, nothing is lost', async () => {
    await previous.prepare(db.url);
    const [oldApi, oldWorker] = [await start('api', previous.main), await start('worker', previous.main)];
    const before = new Load(oldApi.url);
    await before.answers(20);
    expect(await migrate(db.url, { lease: 30, appUrl: asService(db.url) })).not.toEqual([]);
    await before.answers(20);
    const [newApi, newWorker] = [await start('api'), await start('worker')];
    const beside = new Load(newApi.url);
    await Promise.all([before.answers(20), beside.answers(20)]);
    await oldWorker.drain();
    const [byOld, byNew] = [await before.stop(), await beside.stop()];
    expect([...before.retriedAfter, ...beside.retriedAfter]).toEqual([]);
    await expectBooksBalance(db, provider, [...byOld, ...byNew]);
    await expectReceipts(db, mailbox, [...byOld, ...byNew]);

    for (const [api, purchases] of [
      [newApi, byOld],
      [oldApi, byNew],
    ] as const) {
      const [purchase] = purchases.slice(-1);
      expect(await replayOf(api.url, purchase!)).toEqual(purchase!.reply);
      expect(await refund(api.url, purchase!.chargeId)).toMatchObject({ status: 201 });
    }
    await expectLedgersAgree(db, provider);
    await oldApi.drain();
    await newWorker.drain();
  });
});
