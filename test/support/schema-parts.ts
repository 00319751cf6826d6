import type { TestDatabase } from './database.js';

/** A table, or what belongs to one. */
interface Part {
  readonly kind: 'table' | 'column' | 'constraint' | 'index' | 'trigger';
  readonly table: string;
  readonly name: string;
  readonly definition: string;
  /** Those of the table that it names. */
  readonly columns: readonly string[];
  /** Whether a build that has never heard of it can fail because of it. */
  readonly demands: boolean;
}

export function schemaParts({ sql }: Pick<TestDatabase, 'sql'>): Promise<Part[]> {
  return sql<Part>(PARTS);
}

/**
 * What a build that was written for `before` may trip over in `after`. It names its columns, so that more of them, more
 * tables and more indexes do it no harm; what it reads must stay, and nothing may be asked of what it writes.
 */
export function breaks(before: readonly Part[], after: readonly Part[]): string[] {
  const old = new Map(before.map((part) => [idOf(part), part]));
  const now = new Map(after.map((part) => [idOf(part), part]));
  const known = (part: Part, column: string) => old.has(`column ${part.table}.${column}`);
  const gone = before.filter((part) => !now.has(idOf(part))).map((part) => `takes away ${idOf(part)}`);
  const found = after.flatMap((part) => {
    const was = old.get(idOf(part));
    if (was && was.definition !== part.definition) return [`changes ${idOf(part)}`];
    if (was || !part.demands || !old.has(`table ${part.table}`)) return [];
    const onOldGround = part.kind === 'column' || part.columns.every((column) => known(part, column));
    return onOldGround ? [`demands ${idOf(part)}`] : [];
  });
  return [...gone, ...found].sort();
}

function idOf({ kind, table, name }: Part): string {
  return kind === 'table' ? `table ${name}` : `${kind} ${table}.${name}`;
}

/** A column demands where it has to be given; a default that goes changes it. An index demands where it is unique. */
const PARTS = `
  WITH ours AS (
    SELECT oid, relname::text AS "table" FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'migrations'),
  columns AS (
    SELECT ours.oid, "table", attnum, attname::text AS name, format_type(atttypid, atttypmod) AS type,
           attnotnull, attnotnull AND NOT atthasdef AND attidentity = '' AS required
      FROM ours JOIN pg_attribute ON attrelid = ours.oid AND attnum > 0 AND NOT attisdropped)
  SELECT 'table' AS kind, "table", "table" AS name, '' AS definition, '{}'::text[] AS columns, false AS demands FROM ours
   UNION ALL
  SELECT 'column', "table", name, concat_ws(', ', type, CASE WHEN required THEN 'given' WHEN attnotnull THEN 'not null' END), ARRAY[name], required
    FROM columns
   UNION ALL
  SELECT 'constraint', "table", conname::text, pg_get_constraintdef(pg_constraint.oid),
         ARRAY(SELECT name FROM columns WHERE columns.oid = conrelid AND attnum = ANY (conkey)), true
    FROM pg_constraint JOIN ours ON ours.oid = conrelid WHERE contype <> 'n'
   UNION ALL
  SELECT 'index', "table", relname::text, pg_get_indexdef(indexrelid),
         ARRAY(SELECT name FROM columns WHERE columns.oid = indrelid AND attnum = ANY (indkey)), indisunique
    FROM pg_index JOIN ours ON ours.oid = indrelid JOIN pg_class ON pg_class.oid = indexrelid
   WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)
   UNION ALL
  SELECT 'trigger', "table", tgname::text, pg_get_triggerdef(pg_trigger.oid), '{}', true
    FROM pg_trigger JOIN ours ON ours.oid = tgrelid WHERE NOT tgisinternal`;
