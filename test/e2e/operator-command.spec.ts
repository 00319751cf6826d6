import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { checkoutBody, post } from '../support/checkout.js';
import { heldCheckout, OPERATORS, type Held } from '../support/operator.js';
import { RecoveryParts } from '../support/recovery-parts.module.js';
import { openShop, type Shop } from '../support/shop.js';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe('npm run operator', () => {
  let shop: Shop;
  let held: Held;
  beforeAll(async () => {
    shop = await openShop({ ROLE: 'api', OPERATOR_TOKENS: OPERATORS.ada }, [RecoveryParts]);
    held = await heldCheckout(shop);
  });
  afterAll(() => shop.close());

  function run(args: string, env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return promisify(execFile)(process.execPath, ['scripts/operator.mjs', ...args.split(' ')], {
      env: { OPERATOR_URL: shop.api.url, OPERATOR_TOKEN: OPERATORS.ada, ...env },
    }).then(
      (output) => ({ code: 0, ...output }),
      (error: Ended) => error,
    );
  }

  it('shows reviews for people to read, and as the API has them', async () => {
    const { stdout } = await run('reviews --status open');
    for (const part of [held.review.id, 'tries_used_up', held.review.charge.id, '1700 eur', 'key claimed by'])
      expect(stdout).toContain(part);
    expect(JSON.parse((await run('reviews --json')).stdout).data[0]).toEqual(held.review);
  });

  it('decides, and says who did', async () => {
    const args = `decide ${held.review.id} mark_succeeded ${held.made!.id} --note seen`;
    const { code, stdout } = await run(args);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/mark_succeeded pi_\w+, by operator \w{8} at .*: seen/),
    ]);
    expect((await held.retry()).status).toBe(201);
    expect((await run('reviews --status open')).stdout).toBe('There are none.\n');
  });

  it('requeues and purges', async () => {
    await shop.db.sql('UPDATE outbox_messages SET dead_at = now(), due_at = NULL');
    const [id] = /msg_\w+/.exec((await run('dead-letters')).stdout) ?? [];
    expect((await run(`requeue ${id}`)).stdout).toContain('due at');
    expect((await run(`purge ${id}`)).stderr).toContain('message_not_dead');
    await shop.db.sql('UPDATE outbox_messages SET dead_at = now(), due_at = NULL');
    expect((await run(`purge ${id}`)).stdout).toBe(`${id} is deleted\n`);
    expect((await run('dead-letters')).stdout).toBe('There are none.\n');
  });

  it('shows of a review all that is known, also of one about an event', async () => {
    await shop.db.sql(
      `INSERT INTO reviews (tenant_id, id, subject_kind, subject_id, reason, evidence)
       VALUES ('acme', 'rev_00000000000000000000000001', 'event', 'evt_1', 'charge_unknown', $1)`,
      [
        {
          event: 'evt_1',
          provider: { chargeId: 'ch_0', providerId: 'pi_0', outcome: { status: 'declined' } },
        },
      ],
    );
    const { stdout } = await run('reviews --status open');
    for (const part of ['event evt_1', 'provider pi_0', 'chargeId ch_0', 'outcome.status declined'])
      expect(stdout).toContain(part);
  });

  it('shows what others wrote as words that no terminal obeys, each on its line', async () => {
    const wicked = 'late\u001b[2J\u009b31m\r\n  tenant   globex\u202e\u2028';
    await shop.db.sql(
      `INSERT INTO reviews (tenant_id, id, subject_kind, subject_id, reason, evidence)
       VALUES ('acme', 'rev_00000000000000000000000002', 'event', 'evt_2', 'charge_unknown', $1)`,
      [{ lastError: wicked }],
    );
    const [text, json] = [await run('reviews'), await run('reviews --json')];
    for (const { stdout } of [text, json]) expect(stdout).not.toMatch(/[^\P{C}\n]|\u2028/u);
    expect(text.stdout).toContain('late\\u001b[2J\\u009b31m\\u000d\\u000a  tenant   globex');
    const { data } = JSON.parse(json.stdout) as { data: { evidence: { lastError?: string } }[] };
    expect(data.map(({ evidence }) => evidence.lastError)).toContain(wicked);
    await shop.db.sql("DELETE FROM reviews WHERE subject_id = 'evt_2'");
  });

  it('shows what is held of a person and what is in the way, and erases it when told to', async () => {
    const { body } = await post(`${shop.api.url}/v1/checkouts`, checkoutBody());
    const who = `acme ${body.order.id}`;
    expect((await run(`erase ${who}`)).stdout).toMatch(
      /mail msg_\w+ is due, and waits for its delivery\nNot yet/,
    );
    expect(await run(`erase ${who} --yes`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/409 erasure_blocked: .*\n {2}in the way: mail msg_/),
    });
    await shop.db.sql('UPDATE outbox_messages SET sent_at = now(), due_at = NULL');
    const { stdout } = await run('erase acme ada@example.com');
    expect(stdout).toContain(`${body.order.id}  paid of`);
    expect(stdout).toContain('Nothing is in the way: --yes erases it.');
    const erased = await run('erase acme ada@example.com --also externalRef,items --yes');
    expect(erased.stdout).toMatch(/erased at .* by operator \w{8}/);
    expect((await run('erase acme ada@example.com')).stdout).toContain('holds    0 replies, 0 mails');
    expect(JSON.parse((await run(`erase ${who} --json`)).stdout).orders[0].erasedBy).toMatch(/^operator /);
  });

  it('speaks to the sandbox on its PORT where nothing else is said', async () => {
    const { port } = new URL(shop.api.url);
    expect((await run('dead-letters', { OPERATOR_URL: '', PORT: port })).stdout).toBe('There are none.\n');
  });

  it.each([
    ['erase', {}, 1, /Whose data/],
    ['erase acme ord_1', {}, 1, /400 validation_failed/],
    ['', {}, 2, /dead-letters/],
    ['explode', {}, 2, /dead-letters/],
    ['decide', {}, 1, /Which one/],
    ['decide rev_1 retry', {}, 1, /404 review_not_found/],
    ['reviews --status closed', {}, 1, /400 validation_failed/],
    ['reviews', { OPERATOR_TOKEN: '' }, 1, /401 unauthenticated/], // the sandbox's, which is none here
    ['reviews', { OPERATOR_URL: 'http://127.0.0.1:9' }, 1, /does not answer.*OPERATOR_URL/],
  ])('says what is wrong: "%s" %j', async (args, env, code, message) => {
    const ended = await run(args, env);
    expect([ended.code, ended.stdout + ended.stderr]).toEqual([code, expect.stringMatching(message)]);
  });
});
