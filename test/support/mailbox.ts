import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FaultKind } from '../../src/sandbox/mailbox/faults.js';
import type { Mail } from '../../src/sandbox/mailbox/mail.js';
import { freePort } from './free-port.js';

export interface Mailbox {
  readonly smtpUrl: string;
  readonly url: string;
  readonly ports: { readonly smtp: number; readonly http: number };
  messages(): Promise<Mail[]>;
  /** Waits until there are at least so many. */
  received(count: number): Promise<Mail[]>;
  clear(): Promise<void>;
  fault(fault: { kind: FaultKind; times?: number; delayMs?: number }): Promise<void>;
  clearFaults(): Promise<void>;
  /** How many mails met each kind of fault. */
  met(): Promise<Record<FaultKind, number>>;
  /** Resolves with its exit code once it has ended; does nothing the second time. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Closes the channel to its parent, as when the parent is killed, and resolves once it has ended. */
  orphan(): Promise<number | null>;
}

const MAIN = fileURLToPath(new URL('../../dist/src/sandbox/mailbox/main.js', import.meta.url));

/** The sandbox's mailbox as a real process, on ports of its own unless some are given (a restart). */
export async function startMailbox({
  ports,
  dataDir,
}: { ports?: Mailbox['ports']; dataDir?: string } = {}): Promise<Mailbox> {
  const { smtp, http } = ports ?? { smtp: await freePort(), http: await freePort() };
  const env = { ...process.env, SMTP_PORT: `${smtp}`, MAILBOX_PORT: `${http}`, DATA_DIR: dataDir ?? '' };
  const child = fork(MAIN, { env, execArgv: [], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line'),
    ended.then((code) => Promise.reject(new Error(`The mailbox ended with ${code} before it was ready`))),
  ]);
  const url = `http://127.0.0.1:${http}`;
  const messages = async () =>
    ((await (await fetch(`${url}/messages`)).json()) as { messages: Mail[] }).messages;
  return {
    smtpUrl: `smtp://127.0.0.1:${smtp}`,
    url,
    ports: { smtp, http },
    messages,
    received: (count) => untilLongEnough(messages, count),
    clear: async () => void (await fetch(`${url}/messages`, { method: 'DELETE' })),
    fault: async (fault) =>
      void (await fetch(`${url}/_faults`, { method: 'POST', body: JSON.stringify(fault) })),
    clearFaults: async () => void (await fetch(`${url}/_faults`, { method: 'DELETE' })),
    met: async () =>
      ((await (await fetch(`${url}/_faults`)).json()) as { met: Record<FaultKind, number> }).met,
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
    orphan: () => {
      child.disconnect();
      return ended;
    },
  };
}

async function untilLongEnough(messages: () => Promise<Mail[]>, count: number): Promise<Mail[]> {
  for (const until = Date.now() + PATIENCE_MS; ;) {
    const found = await messages();
    if (found.length >= count) return found;
    if (Date.now() > until)
      throw new Error(`${found.length} of ${count} mails came within ${PATIENCE_MS} ms`);
    await sleep(25);
  }
}

const PATIENCE_MS = 15_000;
