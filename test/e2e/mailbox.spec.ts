import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createTransport } from 'nodemailer';
import { freePort } from '../support/free-port.js';
import { startMailbox, type Mailbox } from '../support/mailbox.js';

const MAIL = {
  from: 'Shop <shop@example.com>',
  to: 'Ada <ada@example.com>',
  subject: 'Zażółć gęślą jaźń',
  text: 'Plain words.',
  html: '<p>Words.</p>',
  messageId: '<one@example.com>',
};

describe('The mailbox', () => {
  let mailbox: Mailbox;
  beforeAll(async () => {
    mailbox = await startMailbox();
  });
  afterAll(() => mailbox.stop());
  beforeEach(() => mailbox.clear());

  const send = (mail: object = {}) => createTransport(mailbox.smtpUrl).sendMail({ ...MAIL, ...mail });

  it('shows a mail that it was sent, and nothing else of it', async () => {
    await send();
    expect(await mailbox.messages()).toEqual([
      {
        messageId: '<one@example.com>',
        to: 'ada@example.com',
        subject: 'Zażółć gęślą jaźń',
        text: expect.stringMatching(/^Plain words\.\s*$/),
        html: expect.stringMatching(/^<p>Words\.<\/p>\s*$/),
        receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
    ]);
  });

  it('makes up no HTML for a mail that has none', async () => {
    await send({ html: undefined });
    expect((await mailbox.messages())[0]).toMatchObject({ html: null });
  });

  it('lists mails in the order they came', async () => {
    for (const subject of ['first', 'second', 'third']) await send({ subject });
    expect((await mailbox.messages()).map(({ subject }) => subject)).toEqual(['first', 'second', 'third']);
  });

  it('has a page that fetches nothing from elsewhere and runs no script of a mail', async () => {
    const response = await fetch(mailbox.url);
    const page = await response.text();
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page).not.toMatch(/(?:src|href)="(?!data:,)/);
    expect(page).toMatch(/<iframe[^>]+sandbox="allow-same-origin"/);
  });

  it('answers what it does not know with 404 and a broken fault with 400', async () => {
    expect((await fetch(`${mailbox.url}/nothing`)).status).toBe(404);
    const broken = await fetch(`${mailbox.url}/_faults`, { method: 'POST', body: '{"kind":"explode"}' });
    expect(broken.status).toBe(400);
    expect(await broken.json()).toEqual({ error: 'kind must be one of reject, defer, delay, drop' });
  });

  describe('told to fail', () => {
    it('refuses a recipient for good, as often as it was told', async () => {
      await mailbox.fault({ kind: 'reject', times: 2 });
      await expect(send()).rejects.toMatchObject({ responseCode: 550 });
      await expect(send()).rejects.toMatchObject({ responseCode: 550 });
      await send();
      expect(await mailbox.messages()).toHaveLength(1);
    });

    it('refuses a recipient for now', async () => {
      await mailbox.fault({ kind: 'defer' });
      await expect(send()).rejects.toMatchObject({ responseCode: 451 });
    });

    it('counts the mails that met each fault', async () => {
      const before = await mailbox.met();
      await mailbox.fault({ kind: 'defer', times: 2 });
      await expect(send()).rejects.toMatchObject({ responseCode: 451 });
      expect(await mailbox.met()).toEqual({ ...before, defer: before.defer + 1 });
      await mailbox.clearFaults();
      await send();
      expect(await mailbox.met()).toEqual({ ...before, defer: before.defer + 1 });
    });

    it('keeps a mail and cuts the connection before it says so', async () => {
      await mailbox.fault({ kind: 'drop' });
      await expect(send()).rejects.toThrow();
      expect(await mailbox.messages()).toHaveLength(1);
    });

    it('answers late', async () => {
      await mailbox.fault({ kind: 'delay', delayMs: 300 });
      const start = performance.now();
      await send();
      expect(performance.now() - start).toBeGreaterThan(290);
    });
  });
});

describe('The mailbox as a process', () => {
  it('keeps its mails over a restart, also after a kill in the middle of a line', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'mailbox-'));
    const first = await startMailbox({ dataDir });
    await createTransport(first.smtpUrl).sendMail(MAIL);
    const before = await first.messages();
    await first.stop('SIGKILL');
    await appendFile(join(dataDir, 'mailbox/messages.jsonl'), '{"messageId":"<half');

    const second = await startMailbox({ dataDir, ports: first.ports });
    await createTransport(second.smtpUrl).sendMail({ ...MAIL, messageId: '<two@example.com>' });
    expect((await second.messages()).map(({ messageId }) => messageId)).toEqual([
      '<one@example.com>',
      '<two@example.com>',
    ]);
    expect((await second.messages()).slice(0, 1)).toEqual(before);
    await second.stop();

    const third = await startMailbox({ dataDir });
    expect(await third.messages()).toHaveLength(2);
    await third.stop();
    await rm(dataDir, { recursive: true });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends on %s', async (signal) => {
    expect(await (await startMailbox()).stop(signal)).toBe(0);
  });

  it('ends when whoever started it is gone', async () => {
    expect(await (await startMailbox()).orphan()).toBe(0);
  });

  it('names the variable to set when its port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const env = { ...process.env, SMTP_PORT: `${port}`, MAILBOX_PORT: `${await freePort()}`, DATA_DIR: '' };
    const child = spawn(process.execPath, ['dist/src/sandbox/mailbox/main.js'], { env });
    const [words, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(words).toBe(
      `SMTP_PORT ${port} cannot be listened on (EADDRINUSE): set SMTP_PORT to a free port.\n`,
    );
    expect(code).toBe(1);
    taken.close();
  });
});
