/** A statement with a name is prepared once per connection and then only executed. Its first value is its tenant. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** It is about no tenant, or about all. */
  readonly acrossTenants?: true;
  /** The same in words for where tenants are spread over servers, by Citus, which refuses `text`. */
  readonly spread?: string;
}

/** `statement('find_order', 'SELECT …')`: names are unique in the service, as PostgreSQL keeps one text per name. */
export function statement(name: string, text: string): Statement {
  return { name, text };
}

/** For one that is not about the tenant of its first value, such as a finder, a gauge, or an operator's list. */
export function acrossTenants(statement: Statement): Statement {
  return { ...statement, acrossTenants: true };
}

/** Those of a statement's parameters; a function is asked when the statement leaves. */
export type Values = readonly unknown[] | (() => readonly unknown[]);

/** A statement that fails where it does not come to what it must, so that nothing behind it is carried out. */
export interface DecisiveStatement extends Statement {
  readonly decisive: true;
}

/**
 * For a conditional UPDATE whose condition is an invariant. That it changed its row is checked in the database: a COMMIT
 * may then follow in the same flight, and is not carried out where the row was not there.
 */
export function changesOneRow(name: string, update: string): DecisiveStatement {
  const text = `WITH changed AS (${update} RETURNING 1) SELECT 1 / (count(*) = 1)::int FROM changed`;
  return { name, text, decisive: true };
}

/** Without a name, so that it is planned each time for the rows as they are now, and not for when a queue was empty. */
export function planned(text: string): Statement {
  return statement('', text);
}

/**
 * A time that a write computes from columns. In a subquery, as Citus takes it nowhere else.
 * @param seconds from now, in SQL
 */
export function later(seconds: string): string {
  return `(SELECT now() + make_interval(secs => ${seconds}))`;
}
