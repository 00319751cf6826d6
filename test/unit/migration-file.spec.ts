import { migrationFile, registered } from '../../src/sandbox/migration-file.js';

const SCHEMA = `import { First1 } from '../../migrations/1-first.js';

/** Every migration, in order. */
export const migrations = [First1];
`;

describe('A generated migration', () => {
  it('is named after what it is for and when it was made', () => {
    const { path, className, source } = migrationFile('Add loyalty points!', 42, { up: [], down: [] });
    expect(path).toBe('migrations/42-add-loyalty-points.ts');
    expect(className).toBe('AddLoyaltyPoints42');
    expect(source).toContain('export class AddLoyaltyPoints42 implements MigrationInterface');
  });

  it('carries the statements as they are, backquotes and placeholders included', () => {
    const { source } = migrationFile('odd', 1, { up: ["SELECT '`${x}\\\\'"], down: ['DROP TABLE t'] });
    expect(source).toContain("SELECT '\\`\\${x}\\\\\\\\'");
    expect(source.indexOf('DROP TABLE t')).toBeGreaterThan(source.indexOf('async down'));
  });

  it('is listed last', () => {
    const once = registered(SCHEMA, 'Second2', 'migrations/2-second.ts');
    const twice = registered(once, 'Third3', 'migrations/3-third.ts');
    expect(twice).toContain(
      "import { Second2 } from '../../migrations/2-second.js';\nimport { Third3 } from",
    );
    expect(twice).toContain('export const migrations = [First1, Second2, Third3];');
  });

  it('is listed last also where prettier has broken the list', () => {
    const broken = SCHEMA.replace('[First1]', '[\n  First1,\n]');
    expect(registered(broken, 'Second2', 'migrations/2-second.ts')).toMatch(/\[\n {2}First1, Second2\]/);
  });
});
