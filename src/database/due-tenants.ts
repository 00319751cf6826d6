export interface DueRows {
  readonly table: string;
  /** The column that says when a row is due. */
  readonly due: string;
  /** Which rows wait at all; the condition of a partial index on (tenant_id, `due`). */
  readonly waiting: string;
}

/**
 * The tenants that have rows due, as `tenantId`. It hops from tenant to tenant along the index: one look-up for each
 * tenant with rows that wait, however many those are.
 */
export function dueTenants({ table, due, waiting }: DueRows): string {
  return `WITH RECURSIVE earliest AS (
     (SELECT tenant_id, ${due} FROM ${table}
       WHERE ${waiting}
       ORDER BY tenant_id, ${due} LIMIT 1)
     UNION ALL
     SELECT following.tenant_id, following.${due}
       FROM earliest, LATERAL (
         SELECT tenant_id, ${due} FROM ${table}
          WHERE ${waiting} AND tenant_id > earliest.tenant_id
          ORDER BY tenant_id, ${due} LIMIT 1) AS following
   )
   SELECT tenant_id AS "tenantId" FROM earliest WHERE ${due} <= now()`;
}
