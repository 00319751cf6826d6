/** SQL statements, in the order in which they run. */
export interface Difference {
  readonly up: readonly string[];
  readonly down: readonly string[];
}

/** `add-loyalty` at 1764374400000 → migrations/1764374400000-add-loyalty.ts with class AddLoyalty1764374400000. */
export function migrationFile(name: string, timestamp: number, { up, down }: Difference) {
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? ['change'];
  const className = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('') + timestamp;
  const source = `import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ${className} implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
${queries(up)}
  }

  async down(runner: QueryRunner): Promise<void> {
${queries(down)}
  }
}
`;
  return { path: `migrations/${timestamp}-${words.join('-')}.ts`, className, source };
}

function queries(statements: readonly string[]): string {
  const found = statements.length > 0 ? statements : ['-- Comment every column that you add.'];
  return found.map((sql) => `    await runner.query(\`\n      ${escaped(sql)}\n    \`);`).join('\n');
}

function escaped(sql: string): string {
  return sql.replace(/[\\`]|\$\{/g, '\\$&');
}

/** The text of schema.ts with one more migration imported and listed last. */
export function registered(schema: string, className: string, path: string): string {
  const statement = `import { ${className} } from '../../${path.replace(/\.ts$/, '.js')}';`;
  const lastImport = schema.lastIndexOf("'../../migrations/");
  const endOfLine = schema.indexOf('\n', lastImport);
  return `${schema.slice(0, endOfLine)}\n${statement}${schema.slice(endOfLine)}`.replace(
    /(export const migrations = \[[^\]]*?),?\s*\]/,
    `$1, ${className}]`,
  );
}
