import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Debian keeps servers where only root's path leads. */
const FURTHER_PLACES = ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin'];

export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...FURTHER_PLACES];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** A group of tests that need `program`, or one that says why it is skipped. */
export function describeWith<Program>(
  name: string,
  program: Program | undefined,
  title: string,
  tests: (program: Program) => void,
): void {
  if (program !== undefined) describe(title, () => tests(program));
  else
    describe.skip(`${title} (skipped: no ${name} found on this machine)`, () => tests(undefined as Program));
}

export interface Daemon {
  readonly pid: number;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const UP_WITHIN_MS = 20_000;

/** A server that stays in the foreground, once it takes connections on `port`. It dies with the test. */
export async function startDaemon(command: readonly string[], port: number): Promise<Daemon> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk) => (said += String(chunk)));
  const exited = once(child, 'exit');
  const until = Date.now() + UP_WITHIN_MS;
  while (!(await takesConnections(port))) {
    if (child.exitCode !== null || Date.now() > until) throw new Error(`${program} did not start: ${said}`);
    await sleep(50);
  }
  return {
    pid: child.pid!,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      await exited;
    },
  };
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
