import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../src/sandbox/postmaster.js';

export interface RunningProcess {
  readonly pid: number;
  readonly command: string;
}

/** The processes that `parent` has started and that still run. */
export function childrenOf(parent: number): RunningProcess[] {
  return table().filter(({ ppid }) => ppid === parent);
}

/** @throws when one of them is still there after `seconds` */
export async function untilGone(processes: readonly RunningProcess[], seconds = 20): Promise<void> {
  const until = Date.now() + seconds * 1_000;
  for (;;) {
    const left = processes.filter(({ pid }) => isAlive(pid));
    if (left.length === 0) return;
    if (Date.now() > until)
      throw new Error(`Still running: ${left.map(({ command }) => command).join(', ')}`);
    await sleep(50);
  }
}

/** A machine with Node and nothing else may have no `ps`; where there is /proc none is needed. */
function table(): (RunningProcess & { ppid: number })[] {
  return process.platform === 'linux' ? fromProc() : fromPs();
}

function fromProc() {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const ppid = /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return [{ pid: Number(pid), ppid: Number(ppid), command }];
    } catch {
      return []; // gone since it was listed
    }
  });
}

function fromPs() {
  const lines = execFileSync('ps', ['-ax', '-o', 'pid=,ppid=,command='], { encoding: 'utf8' })
    .trim()
    .split('\n');
  return lines.map((line) => {
    const [pid, ppid, ...command] = line.trim().split(/\s+/);
    return { pid: Number(pid), ppid: Number(ppid), command: command.join(' ') };
  });
}
