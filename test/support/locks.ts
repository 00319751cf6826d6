import type { TestDatabase } from './database.js';

/** Holds every look-up of a table until released, so that a request is in flight for as long as a test likes. */
export async function holdLock(db: TestDatabase, table: string): Promise<() => Promise<void>> {
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  let locked!: () => void;
  const isLocked = new Promise<void>((resolve) => (locked = resolve));
  const holding = db.database.transaction(async (tx) => {
    await tx.managerFor('acme').query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    locked();
    await released;
  });
  await isLocked;
  return async () => {
    release();
    await holding;
  };
}

/** Until so many sessions wait for a lock. */
export async function waitingForLock(db: TestDatabase, count = 1): Promise<void> {
  while ((await db.sql(WAITING)).length < count);
}

/** On whatever server of a cluster. */
const SESSIONS = process.env['TEST_CLUSTER_URL'] ? 'citus_stat_activity' : 'pg_stat_activity';
const WAITING = `SELECT 1 FROM ${SESSIONS} WHERE wait_event_type = 'Lock'`;
