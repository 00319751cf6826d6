import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutBody, post } from '../support/checkout.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';
import { startMockProvider, type MockProvider } from '../support/mock-provider.js';
import { STRIPE_WEBHOOK_SECRETS, subscribe } from '../support/webhooks.js';
import { expectBooksBalance, expectReceipts } from './books.js';
import { startFleet, type Fleet, type Member } from './fleet.js';
import { Load, recovery, report } from './load.js';
import { startNginx, type Nginx } from './nginx.js';
import { describeWith, findProgram } from './programs.js';

/** What a client may be told while processes come and go; each of them says: ask again. */
const RETRYABLE = [409, 502, 503, 504, 'no answer'];

describeWith('nginx', findProgram('nginx'), 'Three APIs and two workers behind nginx', (program) => {
  let db: TestDatabase;
  let provider: MockProvider;
  let mailbox: Mailbox;
  let fleet: Fleet;
  let nginx: Nginx;

  beforeEach(async () => {
    [db, provider, mailbox] = await Promise.all([createTestDatabase(), startMockProvider(), startMailbox()]);
    fleet = await startFleet({
      apis: 3,
      workers: 2,
      databaseUrl: db.url,
      providerUrl: provider.url,
      smtpUrl: mailbox.smtpUrl,
      STRIPE_WEBHOOK_SECRETS,
      IDEMPOTENCY_LEASE_SECONDS: '6',
      COMPLETER_GRACE_SECONDS: '10',
    });
    nginx = await startNginx(
      program,
      fleet.apis.map(({ port }) => port),
    );
    await subscribe(provider, nginx.url);
  });
  afterEach(async () => {
    await fleet.stop();
    await nginx.stop();
    await Promise.all([provider.stop(), mailbox.stop(), db.drop()]);
  });

  it('lose no purchase and charge none twice while processes are killed, drained and started again', async () => {
    await provider.fault('delay', { times: 1_000_000, delayMs: 150 }); // so that a kill finds calls under way
    const load = new Load(nginx.url);
    const broken: number[] = [];
    const end = async (member: Member, how: 'kill' | 'drain') => {
      await load.answers(20);
      if (how === 'kill' && member.role === 'api') broken.push(performance.now());
      await member[how]();
      await sleep(200);
      await member.start();
    };
    const [one, two, three] = fleet.apis as [Member, Member, Member];
    const [first, second] = fleet.workers as [Member, Member];
    await end(one, 'kill');
    await end(first, 'kill');
    await end(two, 'drain');
    await end(second, 'drain');
    await end(three, 'kill');
    await end(two, 'kill');
    const purchases = await load.stop();
    report('API processes killed, behind nginx', recovery(purchases, broken));
    expect(load.retriedAfter.filter((reason) => !RETRYABLE.includes(reason))).toEqual([]);
    const sentTwice = (await nginx.requests()).filter(({ tried }) => tried.length > 1);
    expect(sentTwice.length).toBeGreaterThan(0);
    await expectBooksBalance(db, provider, purchases);
    await expectReceipts(db, mailbox, purchases);
  });

  it('are restarted one after the other, and no client is ever sent away', async () => {
    const load = new Load(nginx.url);
    for (const member of [...fleet.apis, ...fleet.workers]) {
      await load.answers(20);
      await member.drain();
      await load.answers(5);
      await member.start();
    }
    const purchases = await load.stop();
    expect(load.retriedAfter).toEqual([]);
    await expectBooksBalance(db, provider, purchases);
    await expectReceipts(db, mailbox, purchases);
  });

  it('are told of by a problem where none of them answers', async () => {
    await Promise.all(fleet.apis.map((api) => api.kill()));
    const answer = await fetch(`${nginx.url}/v1/checkouts`, { method: 'POST', body: '{}' });
    expect(answer.status).toBe(502);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await answer.json()).toMatchObject({ status: 502, title: 'Bad Gateway' });
  });

  it('are reached by what customers may call, and by nothing else', async () => {
    const { status } = await post(`${nginx.url}/v1/checkouts`, checkoutBody());
    expect(status).toBe(201);
    for (const path of ['/metrics', '/health/ready', '/health/live'])
      expect((await fetch(nginx.url + path)).status).toBe(404);
  });
});
