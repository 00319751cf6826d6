import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Account } from './postgres-account.js';
import { lastLine, type RunBinary } from './postgres-binaries.js';
import { Refusal } from './refusal.js';

/** initdb works beside the place and moves its result there at the end: a start that is killed leaves no half. */
export async function prepareCluster(folder: string, account: Account, run: RunBinary): Promise<void> {
  const existing = await clusterVersion(folder);
  if (existing !== undefined) return requireSameVersion(folder, existing, run);
  const draft = `${folder}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  await account.own(draft);
  await run('initdb', ['-D', draft, ...INITDB_OPTIONS]).catch((error: Error) => {
    throw new Refusal(
      `PostgreSQL cannot make ${folder} (${lastLine(error.message)}): set DATA_DIR to another folder.`,
    );
  });
  await rename(draft, folder);
}

/** The same on every platform, whatever its locale. The server hears this machine only, so nobody is asked for a password. */
const INITDB_OPTIONS = [
  '--username=postgres',
  '--auth=trust',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
];

export async function clusterVersion(folder: string): Promise<string | undefined> {
  const version = await readFile(join(folder, 'PG_VERSION'), 'utf8').catch(() => undefined);
  return version?.trim();
}

async function requireSameVersion(folder: string, existing: string, run: RunBinary): Promise<void> {
  const ours = /\d+/.exec(await run('postgres', ['--version']))?.[0];
  if (existing === ours) return;
  throw new Refusal(
    `${folder} was made by PostgreSQL ${existing} and this is PostgreSQL ${ours}: set DATA_DIR to a new folder, or remove this one.`,
  );
}
