import type pg from 'pg';

/** What was taken from tables, as the statements that give it back: rows are loaded much faster without. */
export interface Dresses {
  readonly indexes: readonly string[];
  /** Afterwards: each needs an index. */
  readonly references: readonly string[];
}

interface Constraint {
  readonly table: string;
  readonly name: string;
  readonly definition: string;
  readonly kind: 'p' | 'u' | 'f';
}

/** Takes all indexes, unique constraints and foreign keys from these tables, and the foreign keys that lead to them. */
export async function bare(pool: pg.Pool, tables: readonly string[]): Promise<Dresses> {
  const { rows: constraints } = await pool.query<Constraint>(CONSTRAINTS, [tables]);
  const { rows: indexes } = await pool.query<{ name: string; definition: string }>(INDEXES, [tables]);
  const [references, unique] = [true, false].map((wanted) =>
    constraints.filter(({ kind }) => (kind === 'f') === wanted),
  ) as [Constraint[], Constraint[]];
  for (const { table, name } of [...references, ...unique])
    await pool.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  for (const { name } of indexes) await pool.query(`DROP INDEX ${name}`);
  return {
    indexes: [...unique.map(added), ...indexes.map(({ definition }) => definition)],
    references: references.map(added),
  };
}

export async function dress(pool: pg.Pool, { indexes, references }: Dresses): Promise<void> {
  for (const statement of [...indexes, ...references]) await pool.query(statement);
}

function added({ table, name, definition }: Constraint): string {
  return `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`;
}

const CONSTRAINTS = `
  SELECT conrelid::regclass::text AS table, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition,
         contype AS kind
    FROM pg_constraint
   WHERE contype IN ('p', 'u', 'f') AND (conrelid = ANY ($1::regclass[]) OR confrelid = ANY ($1::regclass[]))`;

const INDEXES = `
  SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
    FROM pg_index
   WHERE indrelid = ANY ($1::regclass[]) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)`;
