import { planned } from '../database/statement.js';
import type { Database } from '../database/transaction.js';

/** Rows that one statement reads. No index leads to a person, and no statement may outlive a lease. */
const PAGE = 1_000;

interface Search {
  readonly table: string;
  /** What follows tenant_id in the primary key. */
  readonly key: readonly string[];
  readonly columns: string;
  /** Which rows; its own values begin at $3. */
  readonly where: string;
}

/** Rows of a tenant that no index leads to: walks its part of the table along the primary key, page by page. */
export function everyRow<Row>({ table, key, columns, where }: Search) {
  const keys = key.join(', ');
  const after = key.map((_, index) => `($2::text[])[${index + 1}]`).join(', ');
  const text = planned(`
    WITH page AS MATERIALIZED (
      SELECT * FROM ${table} WHERE tenant_id = $1 AND (${keys}) > (${after}) ORDER BY ${keys} LIMIT ${PAGE}
    ), found AS (SELECT *, coalesce(${where}, false) AS found FROM page)
    SELECT ARRAY[${keys}] AS "at", found, ${columns} FROM found
    WHERE found OR (${keys}) = (SELECT ${keys} FROM page ORDER BY ${key.map((each) => `${each} DESC`).join(', ')} LIMIT 1)
    ORDER BY ${keys}`);
  return async (database: Database, tenantId: string, values: readonly unknown[]): Promise<Row[]> => {
    const rows: Row[] = [];
    let at: readonly string[] | undefined = key.map(() => ''); // before every other text
    while (at) {
      const page: readonly (Row & Place)[] = await database.query<Row & Place>(text, [
        tenantId,
        at,
        ...values,
      ]);
      rows.push(...page.filter(({ found }) => found));
      at = page.at(-1)?.at;
    }
    return rows;
  };
}

interface Place {
  readonly at: readonly string[];
  readonly found: boolean;
}
