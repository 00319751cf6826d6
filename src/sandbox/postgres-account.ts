import { execFile } from 'node:child_process';
import { chown, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Refusal } from './refusal.js';

const run = promisify(execFile);

/** PostgreSQL will not run as root. Under root, which is common in containers, it runs as one of these. */
const ACCOUNTS = ['postgres', 'nobody'];

export interface Account {
  /** What to put before a command. */
  readonly prefix: readonly string[];
  /** Hands a new folder to the account. */
  own(folder: string): Promise<void>;
}

/** As whom PostgreSQL runs. A folder that exists keeps its owner. @throws Refusal */
export async function findAccount(folder: string): Promise<Account> {
  if (process.getuid?.() !== 0) return { prefix: [], own: () => Promise.resolve() };
  const { uid, gid } = (await ownerOf(folder)) ?? (await firstAccount());
  return { prefix: await prefixFor(uid, gid), own: (path) => chown(path, uid, gid) };
}

/**
 * A clone in /root is root's alone: without dac_override the account could read neither its programs nor its data,
 * and without no_setuid_fixup access(2), which initdb asks, would not count it. A container may withhold both; then
 * the account has to do with what it may read.
 */
async function prefixFor(uid: number, gid: number): Promise<string[]> {
  const identity = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  const passage = [
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    '--securebits=+no_setuid_fixup',
  ];
  const [command = '', ...args] = [...identity, ...passage, 'true'];
  return run(command, args).then(
    () => [...identity, ...passage],
    () => identity,
  );
}

async function ownerOf(folder: string): Promise<{ uid: number; gid: number } | undefined> {
  const owner = await stat(folder).catch(() => undefined);
  return owner && owner.uid !== 0 ? owner : undefined;
}

async function firstAccount(): Promise<{ uid: number; gid: number }> {
  for (const name of ACCOUNTS) {
    const ids = await Promise.all([idOf('-u', name), idOf('-g', name)]).catch(() => undefined);
    if (ids) return { uid: ids[0], gid: ids[1] };
  }
  throw new Refusal(
    'PostgreSQL does not run as root, and there is no account `postgres` or `nobody`: start as another user, or set DATABASE_URL.',
  );
}

async function idOf(flag: '-u' | '-g', name: string): Promise<number> {
  const { stdout } = await run('id', [flag, name]);
  return Number(stdout);
}
