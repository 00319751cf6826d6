import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { dataSourceOptions } from './data-source.js';
import { migrations } from './schema.js';

/** Above what an index on a large table takes; whoever deploys waits with it. */
const PATIENCE_SECONDS = 300;
const POLL_MS = 200;

/** Any two numbers that nobody else in this database locks; these spell "checkout". */
const LOCK = [0x63686563, 0x6b6f7574];

/**
 * Runs `work` while nobody else changes the schema of the database at `url`: two runs at once would both find that a
 * migration is missing, and both make it. The lock belongs to the session that does the work, so that neither outlives
 * the other. A session that waited inside PostgreSQL would stand in the way of CREATE INDEX CONCURRENTLY, which waits
 * for it in turn: so this one asks now and then.
 * @param patience seconds until it is given up
 * @throws where another run still has the lock then, naming its session
 */
export async function changeSchema<T>(
  url: string,
  work: (runner: QueryRunner, executor: MigrationExecutor) => Promise<T>,
  patience = PATIENCE_SECONDS,
): Promise<T> {
  const options = dataSourceOptions({ url, poolSize: 1 }, { entities: [], migrations });
  const dataSource = await new DataSource(options).initialize();
  try {
    const runner = dataSource.createQueryRunner();
    await lock(runner, patience);
    const executor = Object.assign(new MigrationExecutor(dataSource, runner), {
      transaction: options.migrationsTransactionMode,
    });
    return await work(runner, executor);
  } finally {
    await dataSource.destroy();
  }
}

async function lock(runner: QueryRunner, patience: number): Promise<void> {
  const until = performance.now() + patience * 1_000;
  while (!(await tryLock(runner))) {
    if (performance.now() > until) throw new Error(await sayWhoHasIt(runner, patience));
    await sleep(POLL_MS);
  }
}

async function tryLock(runner: QueryRunner): Promise<boolean> {
  const [answer] = (await runner.query('SELECT pg_try_advisory_lock($1, $2) AS mine', LOCK)) as [
    { mine: boolean },
  ];
  return answer.mine;
}

async function sayWhoHasIt(runner: QueryRunner, patience: number): Promise<string> {
  const [holder] = (await runner.query(HOLDER, LOCK)) as { session: string; pid: number }[];
  const found = holder ? `session ${holder.session}` : 'a session that is gone by now';
  const remedy = holder ? `, or end it with SELECT pg_terminate_backend(${holder.pid})` : '';
  return `Another run has been changing the schema of this database for ${patience} s: ${found}. Wait for it${remedy}; then try again.`;
}

/** `4711 of checkout from 10.0.0.7 since 2026-11-30 08:00:00+00` */
const HOLDER = `
  SELECT pid, concat_ws(' ', pid, 'of ' || usename, 'from ' || host(client_addr), 'since ' || date_trunc('second', backend_start)) AS session
    FROM pg_locks JOIN pg_stat_activity USING (pid)
   WHERE locktype = 'advisory' AND granted AND (classid, objid, objsubid) = ($1::oid, $2::oid, 2)
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
