import pg, { type Pool } from 'pg';
import type { DataSource } from 'typeorm';

/** Guards must not hang with a connection that is half open: shorter than a third of any lease. */
const RESERVED_TIMEOUT_MS = 1_000;

export function reservedPool({ options }: DataSource): Pool {
  const { url, extra } = options as { url?: string; extra: pg.PoolConfig };
  const pool = new pg.Pool({
    connectionString: url,
    ...extra,
    max: 1,
    connectionTimeoutMillis: RESERVED_TIMEOUT_MS,
    query_timeout: RESERVED_TIMEOUT_MS,
  });
  pool.on('error', () => undefined); // an idle connection was cut: the next query opens another
  return pool;
}
