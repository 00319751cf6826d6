import { execFile } from 'node:child_process';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { destroyPostgres, startPostgres, type Postgres } from '../../src/sandbox/postgres.js';
import { freePort } from '../support/free-port.js';

const run = promisify(execFile);

/** Of the disk: a power cut is not what is tested. */
const SETTINGS = { fsync: 'off', max_connections: '100' };
const WITHIN_MS = 30_000;

export interface PostgresPair {
  /** Of both servers, the standby first. */
  readonly url: string;
  readonly primary: Postgres;
  readonly standby: Postgres;
  /** All of its processes at once, as when the machine is gone. @returns when that was, by `performance.now()` */
  killPrimary(): Promise<number>;
  /** As a failover manager does it. */
  promoteStandby(): Promise<void>;
  stop(): Promise<void>;
}

/** A primary, and a standby that has everything before the primary says that it is committed. */
export async function startPostgresPair(): Promise<PostgresPair> {
  const [home, other] = [await newCluster(), await newCluster()];
  const empty = await startPostgres({ folder: home, port: await freePort(), settings: SETTINGS });
  await empty.stop();
  await run('cp', ['-a', home, other]); // of a server that is down: what pg_basebackup does with one that runs
  const primary = await startPostgres({ folder: home, port: await freePort(), settings: SETTINGS });
  await follow(other, primary.port);
  const standby = await startPostgres({ folder: other, port: await freePort(), settings: SETTINGS });
  await makeSynchronous(primary);
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres`,
    primary,
    standby,
    killPrimary: () => killAll(home),
    promoteStandby: async () => void (await query(standby, 'SELECT pg_promote()')),
    stop: async () => {
      for (const folder of [home, other]) {
        await destroyPostgres(folder);
        await rm(dirname(folder), { recursive: true });
      }
    },
  };
}

/** Named as test-postgres.js names them: should this run be killed, the next one clears them away. */
async function newCluster(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), `checkout-test-${process.pid}-`)), 'postgres');
}

async function follow(folder: string, port: number): Promise<void> {
  const from = `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres'\n`;
  await appendFile(join(folder, 'postgresql.conf'), from);
  await writeFile(join(folder, 'standby.signal'), '');
}

async function makeSynchronous(primary: Postgres): Promise<void> {
  await query(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'");
  await query(primary, 'SELECT pg_reload_conf()');
  const until = Date.now() + WITHIN_MS;
  while ((await query(primary, "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'")).length === 0) {
    if (Date.now() > until) throw new Error('The standby does not follow');
    await sleep(50);
  }
}

async function killAll(folder: string): Promise<number> {
  const [pid] = (await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n');
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=']);
  const all = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  const sessions = all.filter(([, parent]) => parent === pid).map(([child]) => child);
  const at = performance.now();
  for (const each of [pid, ...sessions]) process.kill(Number(each), 'SIGKILL');
  return at;
}

async function query(server: Postgres, sql: string): Promise<unknown[]> {
  const client = new pg.Client(server.url('postgres'));
  await client.connect();
  const { rows } = await client.query(sql).finally(() => client.end());
  return rows;
}
