import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findAccount } from './postgres-account.js';
import { findBinaries, type RunBinary } from './postgres-binaries.js';
import { clusterVersion, prepareCluster } from './postgres-cluster.js';
import { findPostmaster, isAlive, type Postmaster } from './postmaster.js';
import { Refusal } from './refusal.js';
import { HOST } from './settings.js';

export interface PostgresOptions {
  /** The cluster's own folder; made on first use. */
  readonly folder: string;
  readonly port: number;
  /** Server settings beyond ours, such as `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A PostgreSQL server in a data folder of ours. It outlives the process that started it, until `stop`. */
export interface Postgres {
  /** It was running already, left behind by a run that was killed; perhaps on another port. */
  readonly adopted: boolean;
  readonly port: number;
  readonly version: string;
  url(database: string): string;
  /** `fast` ends sessions and writes everything out; `immediate` leaves that to the recovery of the next start. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
}

/** How long a server may take to start, after a crash above all, or to stop. */
const WAIT_SECONDS = 60;
const inTime = ['-w', '-t', String(WAIT_SECONDS)];

/** The sessions of a server that was killed hold its shared memory until they notice. */
const SESSIONS_LEAVE_WITHIN_MS = 10_000;

/** Starts the server, or adopts the one that runs in `folder`. @throws Refusal */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const account = await findAccount(options.folder);
  const run = await findBinaries(account.prefix);
  await prepareCluster(options.folder, account, run);
  const running = await findReady(options.folder);
  if (!running) await start(options, run);
  const port = running?.port ?? options.port;
  return {
    adopted: running !== undefined,
    port,
    version: (await clusterVersion(options.folder)) ?? '',
    url: (database) => addressOf(port, database),
    stop: (mode = 'fast') => stop(options.folder, run, mode),
  };
}

export function addressOf(port: number, database: string, user = 'postgres'): string {
  return `postgres://${user}:${user}@${HOST}:${port}/${database}`;
}

/** The running server, once it has come up; undefined when there is none, or it was on its way down. */
async function findReady(folder: string): Promise<Postmaster | undefined> {
  const until = Date.now() + WAIT_SECONDS * 1_000;
  let found = await findPostmaster(folder);
  while (found && !found.ready) {
    if (Date.now() > until)
      throw new Refusal(
        `PostgreSQL (process ${found.pid}) hangs in ${folder}: end it, or set DATA_DIR to another folder.`,
      );
    await sleep(50);
    found = await findPostmaster(folder);
  }
  return found;
}

/** pg_ctl gives the server a session of its own, which Ctrl-C in this terminal does not reach. */
async function start({ folder, port, settings = {} }: PostgresOptions, run: RunBinary): Promise<void> {
  const log = join(folder, 'server.log');
  const flags = Object.entries({ port: String(port), ...SERVER_SETTINGS, ...settings });
  const options = flags.map(([name, value]) => `-c ${name}=${value}`).join(' ');
  const args = ['start', ...inTime, '-D', folder, '-l', log, '-o', options];
  const until = Date.now() + SESSIONS_LEAVE_WITHIN_MS;
  for (;;) {
    await rm(log, { force: true });
    const started = await run('pg_ctl', args).then(
      () => true,
      () => false,
    );
    if (started) return;
    const words = await lastWords(log);
    if (!words.includes('shared memory block') || Date.now() > until)
      throw new Refusal(`PostgreSQL did not start in ${folder} (${words}): set DATA_DIR to another folder.`);
    await sleep(100);
  }
}

const SERVER_SETTINGS = {
  listen_addresses: HOST,
  unix_socket_directories: '', // their paths have a length limit, and nobody here uses one
  max_connections: '200',
  dynamic_shared_memory_type: 'mmap', // in the folder, so that a killed server leaves nothing elsewhere
};

async function lastWords(log: string): Promise<string> {
  const lines = (await readFile(log, 'utf8').catch(() => '')).split('\n');
  const fatal = lines.findLast((line) => /FATAL|PANIC/.test(line)) ?? lines.at(-2) ?? 'it said nothing';
  return fatal.replace(/^.*(FATAL|PANIC):\s*/, '');
}

/** Ends the server in `folder`, if there is one, and removes the folder. */
export async function destroyPostgres(folder: string): Promise<void> {
  const { prefix } = await findAccount(folder);
  await stop(folder, await findBinaries(prefix), 'immediate');
  await rm(folder, { recursive: true, force: true });
}

async function stop(folder: string, run: RunBinary, mode: string): Promise<void> {
  const running = await findPostmaster(folder);
  if (!running) return;
  await run('pg_ctl', ['stop', ...inTime, '-m', mode, '-D', folder]).catch((error: unknown) => {
    if (isAlive(running.pid)) throw error;
  });
}

/** Makes the database unless it is there. */
export async function ensureDatabase(postgres: Postgres, name: string): Promise<void> {
  const client = new pg.Client(postgres.url('postgres'));
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}
