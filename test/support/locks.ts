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

/** Until some session waits for a lock. */
export async function waitingForLock(db: TestDatabase): Promise<void> {
  while ((await db.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).length === 0);
}
