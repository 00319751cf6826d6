import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.js';

/** The settings that move the sandbox. */
export const PORT_NAMES = [
  'PORT',
  'WORKER_PORT',
  'PROVIDER_PORT',
  'SMTP_PORT',
  'MAILBOX_PORT',
  'LAB_PORT',
  'POSTGRES_PORT',
] as const;

export type SandboxPorts = Readonly<Record<(typeof PORT_NAMES)[number], string>>;

export async function freePorts(): Promise<SandboxPorts> {
  const ports = await Promise.all(PORT_NAMES.map(async (name) => [name, String(await freePort())]));
  return Object.fromEntries(ports) as SandboxPorts;
}

export interface StartedSandbox {
  readonly pid: number;
  output(): string;
  /** Settles when it has printed `text`. @throws when it ends first */
  says(text: string): Promise<void>;
  /** Its exit code, or null after a signal, once it has ended. */
  readonly ended: Promise<number | null>;
  signal(signal: NodeJS.Signals): Promise<number | null>;
}

/** What `npm start` runs, as a process of its own. @param build where the code that it runs was built to */
export function startSandbox(env: NodeJS.ProcessEnv, build = 'dist'): StartedSandbox {
  const child = spawn(process.execPath, [`${build}/src/sandbox/start.js`], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  return {
    pid: child.pid!,
    output: () => output,
    ended,
    says: async (text) => {
      while (!output.includes(text)) {
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`The sandbox ended:\n${output}`);
        await sleep(50);
      }
    },
    signal: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
}
