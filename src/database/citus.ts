import type { ClientBase } from 'pg';

/** Finds a row where the database is one of a Citus cluster. */
export const CITUS = "SELECT FROM pg_extension WHERE extname = 'citus'";

/**
 * Citus knows a transaction by its BEGIN. What one Sync commits for PostgreSQL, it commits on its servers statement by
 * statement.
 */
export async function needsBegin(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query(CITUS);
  return rows.length > 0;
}
