import pg from 'pg';
import { Refusal } from './refusal.js';

/** Any number will do, as long as nobody else takes it in the database `postgres` of the cluster. */
const LOCK = 1_764_374_400;

/**
 * Says, for as long as its session lives, that this process is in charge of the server: the database drops the lock
 * when the process dies, however it dies, so there is no stale lock to clean up.
 */
export class PostgresHold {
  private released = false;

  private constructor(private readonly client: pg.Client) {}

  /** `onLost` is called when the server goes away under us. @throws Refusal when another process is in charge */
  static async take(url: string, dataDir: string, onLost: () => void): Promise<PostgresHold> {
    const client = new pg.Client({ connectionString: url, keepAlive: true });
    await client.connect();
    const hold = new PostgresHold(client);
    client.on('error', () => undefined); // followed by `end`
    client.on('end', () => hold.released || onLost());
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
      LOCK,
    ]);
    if (rows[0]?.taken) return hold;
    await hold.release();
    throw new Refusal(
      `Another sandbox is running on DATA_DIR=${dataDir}: stop it, or set DATA_DIR to another folder.`,
    );
  }

  async release(): Promise<void> {
    this.released = true;
    await this.client.end().catch(() => undefined);
  }
}
