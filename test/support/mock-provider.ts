import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { FaultKind } from '../../src/sandbox/mock-provider/faults.js';

const MAIN = fileURLToPath(new URL('../../dist/src/sandbox/mock-provider/main.js', import.meta.url));

export interface LedgerEntry {
  readonly id: string;
  readonly idempotencyKey: string | null;
  readonly amount: number;
  readonly currency: string;
  readonly status: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** How many calls the idempotency key has had. */
  readonly calls: number;
  readonly createdAt: string;
}

export interface ProviderLedger {
  readonly charges: LedgerEntry[];
  readonly refunds: (LedgerEntry & { readonly charge: string })[];
}

export interface MockProvider {
  readonly url: string;
  readonly ledger: () => Promise<ProviderLedger>;
  readonly fault: (
    kind: string,
    options?: { times?: number; delayMs?: number; retryAfter?: string },
  ) => Promise<void>;
  readonly clearFaults: () => Promise<void>;
  /** How often each kind of fault was met. */
  readonly met: () => Promise<Record<FaultKind, number>>;
  /** A payment or a refund is as if it had never been made. */
  readonly forget: (id: string) => Promise<void>;
  /** It was made so many days earlier. */
  readonly age: (id: string, days: number) => Promise<void>;
  /** Ends in order. */
  readonly stop: () => Promise<void>;
  /** Ends as in a crash: kill -9. */
  readonly kill: () => Promise<void>;
}

/** The real mock provider, in a process of its own, on any free port unless one is given. */
export async function startMockProvider({
  dataDir = '',
  port = 0,
}: { dataDir?: string; port?: number } = {}): Promise<MockProvider> {
  const child = fork(MAIN, {
    env: { ...process.env, PROVIDER_PORT: String(port), DATA_DIR: dataDir },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const url = await readyUrl(child);
  const faults = `${url}/_faults`;
  return {
    url,
    ledger: async () => (await send(`${url}/_ledger`)).json() as Promise<ProviderLedger>,
    fault: async (kind, options = {}) => void (await send(faults, 'POST', { kind, ...options })),
    clearFaults: async () => void (await send(faults, 'DELETE')),
    met: async () => ((await (await send(faults)).json()) as { met: Record<FaultKind, number> }).met,
    forget: async (id) => void (await send(`${url}/_forget/${id}`, 'POST')),
    age: async (id, days) => void (await send(`${url}/_age/${id}`, 'POST', { days })),
    stop: () => end(child, 'SIGTERM'),
    kill: () => end(child, 'SIGKILL'),
  };
}

async function readyUrl(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /http:\/\/\S+/.exec(line)?.[0];
    if (url) return url;
  }
  throw new Error('The mock provider ended before it was ready: is dist/ built?');
}

async function send(url: string, method = 'GET', body?: object): Promise<Response> {
  const answer = await fetch(url, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
  return answer;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
