import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { asService } from '../support/app-role.js';
import { freePort } from '../support/free-port.js';
import { createTestDatabase } from '../support/database.js';

const run = promisify(execFile);
const WITH_DATABASE = resolve('dist/src/sandbox/with-database.js');

describe('The commands on the database', () => {
  let folder: string;
  let port: number;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'scripts-'));
    port = await freePort();
    await cp('migrations', join(folder, 'migrations'), { recursive: true });
    await cp('src/database/schema.ts', join(folder, 'src/database/schema.ts'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** As npm runs it, in a folder that has the sources it writes to. */
  async function command(name: string, env: NodeJS.ProcessEnv = {}, args: string[] = []): Promise<string> {
    const { stdout } = await run(process.execPath, [WITH_DATABASE, name, ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'], POSTGRES_PORT: String(port), ...env },
    });
    return stdout.trim();
  }

  it("migrate, revert and reset the sandbox's own PostgreSQL, started for the duration", async () => {
    expect(await command('migrate')).toMatch(/^Migrated: InitialSchema\d+/);
    expect(await command('migrate')).toBe('The schema is up to date.');
    expect(await command('revert')).toMatch(/^Reverted: \w+/);
    expect(await command('migrate')).toMatch(/^Migrated: \w+/);
    expect(await command('reset')).toMatch(/^Reset\. Migrated: InitialSchema\d+/);
    await expect(readFile(join(folder, '.data/postgres/postmaster.pid'))).rejects.toThrow('ENOENT');
  }, 60_000);

  it('use the database that DATABASE_URL names, and leave the rest of its server alone', async () => {
    const { url, sql, drop } = await createTestDatabase();
    await expect(command('reset', { DATABASE_URL: url })).rejects.toMatchObject({
      stderr: expect.stringContaining('set DATABASE_APP_URL') as string, // the service would be locked out
    });
    await command('reset', { DATABASE_URL: url, DATABASE_APP_URL: asService(url) });
    expect(await sql('SELECT name FROM migrations')).toHaveLength((await readdir('migrations')).length);
    await command('revert', { DATABASE_URL: url });
    await drop();
  }, 60_000);

  it('draft a migration with what the schema lacks, take no guard away, and list it', async () => {
    const { url, sql, drop } = await createTestDatabase();
    await sql('ALTER TABLE orders DROP COLUMN customer_name');
    const said = await command('generate', { DATABASE_URL: url, DATABASE_APP_URL: asService(url) }, [
      'add-name',
    ]);
    await drop();
    const [path = ''] = /migrations\/\d+-add-name\.ts/.exec(said) ?? [];
    const source = await readFile(join(folder, path), 'utf8');
    expect(source).toContain('ALTER TABLE "orders" ADD "customer_name" text');
    expect(source.match(/DROP .*/g)).toEqual(['DROP COLUMN "customer_name"']);
    expect(await readFile(join(folder, 'src/database/schema.ts'), 'utf8')).toMatch(/AddName\d+\];/);
  }, 60_000);

  it('refuse to reset in production', async () => {
    const { url, sql, drop } = await createTestDatabase();
    const env = { DATABASE_URL: url, NODE_ENV: 'production' };
    await expect(command('reset', env)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('NODE_ENV') as string,
    });
    expect(await sql("SELECT 1 FROM pg_tables WHERE tablename = 'orders'")).toHaveLength(1);
    await drop();
  });

  it('list every migration that there is', async () => {
    const schema = await readFile('src/database/schema.ts', 'utf8');
    const unlisted = (await readdir('migrations')).filter(
      (name) => !schema.includes(name.replace(/ts$/, 'js')),
    );
    expect(unlisted).toEqual([]);
  });
});
