import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** With which `npm run start:prod` runs the service; everything that is measured has them. */
const NODE_FLAGS = ['--max-semi-space-size=32'];

/** A program of the benchmark, in a process of its own. */
export class Program {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  /** @param command flags of Node, and a file: TypeScript of the benchmark, or JavaScript that was built */
  static async start(command: readonly string[], env: NodeJS.ProcessEnv, port: number): Promise<Program> {
    const hooks = command.at(-1)!.endsWith('.ts') ? ['--import', './test/torture/register.mjs'] : [];
    const child = spawn(process.execPath, [...NODE_FLAGS, ...hooks, ...command], {
      env: { PATH: process.env['PATH'], NODE_ENV: 'test', ...env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    process.once('exit', () => child.kill('SIGKILL')); // a measurement that failed leaves nothing behind
    const program = new Program(child, `http://127.0.0.1:${port}`);
    await program.answers();
    return program;
  }

  get pid(): number {
    return this.child.pid!;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const late = setTimeout(() => this.child.kill('SIGKILL'), LEAVE_WITHIN_MS);
    await gone;
    clearTimeout(late);
  }

  private async answers(): Promise<void> {
    for (let tries = 0; tries < 300; tries++) {
      if (this.child.exitCode !== null) break;
      if (await fetch(this.url).catch(() => undefined)) return;
      await sleep(100);
    }
    throw new Error(`${this.child.spawnargs.at(-1)} did not start`);
  }
}

/** Some of the programs know no better than to die. */
const LEAVE_WITHIN_MS = 10_000;

const TICKS_PER_SECOND = 100;

/** Seconds of processor time that a process has used, and its children that have ended; 0 where /proc is not. */
export function cpuSeconds(pid: number): number {
  const fields = statOf(pid);
  return fields ? fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND : 0;
}

/** MB of memory that a process holds. */
export function residentMb(pid: number): number {
  const status = tryRead(`/proc/${pid}/status`) ?? '';
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024);
}

/** The process and its children. */
export function familyOf(pid: number): number[] {
  const all = tryList('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  return [pid, ...all.filter((each) => Number(statOf(each)?.[1]) === pid)];
}

/** The fields of /proc/<pid>/stat after the command's name, which may hold spaces: state, parent, … */
function statOf(pid: number): string[] | undefined {
  const stat = tryRead(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function tryRead(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function tryList(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
