import { planned } from '../database/statement.js';
import type { Database } from '../database/transaction.js';

/** Rows that one statement reads, as a rule. No index leads to a person, and no statement may outlive a lease. */
const PAGE = 1_000;

interface Search {
  readonly table: string;
  /** What follows tenant_id in the primary key. */
  readonly key: readonly string[];
  readonly columns: string;
  /** Which rows; its own values begin at $3. */
  readonly where: string;
  /** Rows of a page, where they are large. */
  readonly page?: number;
}

/** Rows of a tenant that no index leads to. */
export function everyRow<Row>(search: Search) {
  const pages = everyPage<Row>(search);
  return async (database: Database, tenantId: string, values: readonly unknown[]): Promise<Row[]> => {
    const rows: Row[] = [];
    for await (const page of pages(database, tenantId, values)) rows.push(...page);
    return rows;
  };
}

/** The same for what is looked at page by page: walks the tenant's part of the table along the primary key. */
export function everyPage<Row>({ table, key, columns, where, page: size = PAGE }: Search) {
  const keys = key.join(', ');
  const after = key.map((_, index) => `($2::text[])[${index + 1}]`).join(', ');
  const text = planned(`
    WITH page AS MATERIALIZED (
      SELECT * FROM ${table} WHERE tenant_id = $1 AND (${keys}) > (${after}) ORDER BY ${keys} LIMIT ${size}
    ), found AS (SELECT *, coalesce(${where}, false) AS found FROM page)
    SELECT ARRAY[${keys}] AS "at", found, ${columns} FROM found
    WHERE found OR (${keys}) = (SELECT ${keys} FROM page ORDER BY ${key.map((each) => `${each} DESC`).join(', ')} LIMIT 1)
    ORDER BY ${keys}`);
  return async function* (
    database: Database,
    tenantId: string,
    values: readonly unknown[],
  ): AsyncGenerator<Row[], void> {
    let at: readonly string[] | undefined = key.map(() => ''); // before every other text
    while (at) {
      const page: readonly (Row & Place)[] = await database.query<Row & Place>(text, [
        tenantId,
        at,
        ...values,
      ]);
      yield page.filter(({ found }) => found);
      at = page.at(-1)?.at;
    }
  };
}

interface Place {
  readonly at: readonly string[];
  readonly found: boolean;
}
