import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { platform } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A PostgreSQL server that runs in a data folder, as its `postmaster.pid` describes it. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

/**
 * The server that runs in `folder`, if there is one. A pid file that is left behind stays where it is: PostgreSQL
 * needs it to see whether a server that was killed has sessions that still write. Only where its pid belongs to
 * another program by now (pids come back, after a reboot above all) is it removed, as PostgreSQL would not start.
 */
export async function findPostmaster(folder: string): Promise<Postmaster | undefined> {
  const file = join(folder, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => '');
  const [pid, , , port, , , , status] = text.split('\n');
  if (!pid || !isAlive(Number(pid))) return undefined;
  if (await isPostgresIn(folder, Number(pid))) {
    return { pid: Number(pid), port: Number(port), ready: status?.trim() === 'ready' };
  }
  await rm(file, { force: true });
  return undefined;
}

async function isPostgresIn(folder: string, pid: number): Promise<boolean> {
  const command = await commandOf(pid);
  return command === undefined || command.includes(folder);
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // there, and somebody else's
  }
}

/** The command line of a process; undefined where the platform does not tell. */
async function commandOf(pid: number): Promise<string | undefined> {
  if (platform() === 'linux') {
    return readFile(`/proc/${pid}/cmdline`, 'utf8').then(
      (line) => line.replaceAll('\0', ' '),
      () => undefined,
    );
  }
  if (platform() === 'win32') return undefined;
  return run('ps', ['-p', String(pid), '-o', 'command=']).then(
    ({ stdout }) => stdout,
    () => undefined,
  );
}
