import { acrossTenants, type Statement } from './statement.js';

/** Rows of every tenant that are told apart by a time. */
export interface TimedRows {
  readonly table: string;
  /** The column that has the time: when a row is due, or since when it has served. */
  readonly at: string;
  /** Which rows are meant; the condition of a partial index on (tenant_id, `at`). */
  readonly where: string;
}

/**
 * A statement about the earliest row of each tenant, which `select` finds as `earliest (tenant_id, at)`. It hops from
 * tenant to tenant along the index: one look-up for each tenant that has such rows, however many those are. Citus takes
 * no statement that hops across its servers: there each reads its part of the index.
 */
export function ofEarliest(name: string, { table, at, where }: TimedRows, select: string): Statement {
  const first = (after: string) =>
    `SELECT tenant_id, ${at} FROM ${table} WHERE ${where}${after} ORDER BY tenant_id, ${at} LIMIT 1`;
  return acrossTenants({
    name,
    text: `WITH RECURSIVE earliest (tenant_id, at) AS (
     (${first('')})
     UNION ALL
     SELECT following.* FROM earliest, LATERAL (${first(' AND tenant_id > earliest.tenant_id')}) AS following
   )
   ${select}`,
    spread: `WITH earliest AS (
     SELECT tenant_id, min(${at}) AS at FROM ${table} WHERE ${where} GROUP BY tenant_id
   )
   ${select}`,
  });
}

/** The tenants that have rows until `until`, as `tenantId`. Without a name it is planned each time, for the rows as they are now. */
export function dueTenants(rows: TimedRows, { name = '', until = 'now()' } = {}): Statement {
  return ofEarliest(name, rows, `SELECT tenant_id AS "tenantId" FROM earliest WHERE at <= ${until}`);
}
