import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { migrate } from '../../src/database/migrate.js';
import { changeSchema } from '../../src/database/schema-change.js';
import { migrations } from '../../src/database/schema.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const run = promisify(execFile);
const ALL = migrations.map(({ name }) => name);

describe('Several runs on one schema at once', () => {
  let db: TestDatabase;
  beforeEach(async () => {
    db = await createTestDatabase({ empty: true });
  });
  afterEach(() => db.drop());

  /** As a job runs it. @returns what it said, or throws where it does not end with 0 */
  const command = async (name: string) => {
    const env = { PATH: process.env['PATH'], DATABASE_URL: db.url };
    const { stdout } = await run(process.execPath, [`dist/src/database/cli/${name}.js`], { env });
    return stdout.trim();
  };
  const done = async () =>
    (await db.sql<{ name: string }>('SELECT name FROM migrations ORDER BY id')).map(({ name }) => name);

  it('migrate an empty database once: one does all of it, and the others find it done', async () => {
    const said = await Promise.all(Array.from({ length: 5 }, () => command('migrate')));
    expect(said.sort()).toEqual([
      `Migrated: ${ALL.join(', ')}`,
      ...Array<string>(4).fill('The schema is up to date.'),
    ]);
    expect(await done()).toEqual(ALL);
  }, 120_000);

  it('take back one migration each, and none twice', async () => {
    await command('migrate');
    const said = await Promise.all([command('revert'), command('revert')]);
    expect(said.sort()).toEqual(
      ALL.slice(-2)
        .map((name) => `Reverted: ${name}`)
        .sort(),
    );
    expect(await done()).toEqual(ALL.slice(0, -2));
  }, 120_000);

  it('wait for one that takes long, and say in the end whose session it is', async () => {
    await changeSchema(db.url, async (runner) => {
      const [{ pid }] = (await runner.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
      const refused = expect(migrate(db.url, { lease: 30 }, 0.5)).rejects;
      await refused.toThrow(`for 0.5 s: session ${pid} of postgres`);
    });
    expect(await migrate(db.url, { lease: 30 })).toEqual(ALL);
  });

  it('go on where one was killed: its lock went with its session', async () => {
    const holding = changeSchema(db.url, (runner) =>
      runner.query('SELECT pg_terminate_backend(pg_backend_pid())'),
    );
    await expect(holding).rejects.toThrow();
    expect(await migrate(db.url, { lease: 30 }, 5)).toEqual(ALL);
  });
});
