import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Message, Verdict } from '../../src/sandbox/lab/events.js';
import { freePorts, startSandbox, type StartedSandbox } from '../support/sandbox.js';

export interface StartedLab {
  readonly url: string;
  readonly port: string;
  readonly sandbox: StartedSandbox;
  readonly databaseUrl: string;
  readonly stop: () => Promise<void>;
}

/** A whole sandbox on ports and data of its own, with its lab. @param build where the code that it runs was built to */
export async function startLab(build?: string): Promise<StartedLab> {
  const folder = await mkdtemp(join(tmpdir(), 'lab-'));
  const ports = await freePorts();
  const sandbox = startSandbox({ DATA_DIR: join(folder, 'data'), ...ports }, build);
  await sandbox.says('Ready in');
  return {
    url: `http://127.0.0.1:${ports.LAB_PORT}`,
    port: ports.LAB_PORT,
    sandbox,
    databaseUrl: `postgres://postgres:postgres@127.0.0.1:${ports.POSTGRES_PORT}/checkout`,
    stop: async () => {
      await sandbox.signal('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function begin(url: string, what: object): Promise<Response> {
  const headers = { 'Content-Type': 'application/json' };
  return fetch(`${url}/runs`, { method: 'POST', headers, body: JSON.stringify(what) });
}

/** Everything that was told of a run, once it has ended. */
export async function follow(url: string, id: string): Promise<Message[]> {
  const response = await fetch(`${url}/runs/${id}`);
  const messages: Message[] = [];
  let rest = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith('data: ')) messages.push(JSON.parse(line.slice(6)));
    if (messages.at(-1)?.type === 'end') return messages;
  }
  throw new Error('The stream ended before the run did');
}

export async function play(url: string, what: object): Promise<Message[]> {
  const response = await begin(url, what);
  const { run } = (await response.json()) as { run: string };
  return follow(url, run);
}

export function verdicts(messages: readonly Message[]): Verdict[] {
  return messages.filter((message) => message.type === 'verdict');
}
