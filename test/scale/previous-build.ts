import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { SANDBOX_SECRET } from '../../src/config/published.js';

const run = promisify(execFile);

/** What a build is made of. */
const SOURCES = [
  'src',
  'migrations',
  'package.json',
  'nest-cli.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** By its own code, as today's may write columns that it does not have. */
const SEED =
  "import('./dist/src/sandbox/seed.js').then(({ seedDemoTenants }) => seedDemoTenants(...process.argv.slice(1)))";

export interface PreviousBuild {
  /** What Node runs to serve. */
  readonly main: string;
  /** Makes its schema in the database at `url`, and the tenants that the tests know. */
  prepare(url: string): Promise<void>;
  remove(): Promise<void>;
}

/**
 * The commit before the newest migration came; undefined in a shallow clone, or in none. It is what runs while that
 * migration is rolled out.
 */
export function commitBeforeNewestMigration(): string | undefined {
  const newest = readdirSync('migrations').sort().at(-1)!;
  const log = ['log', '-1', '--diff-filter=A', '--format=%P', '--', `migrations/${newest}`];
  try {
    return execFileSync('git', log, { encoding: 'utf8', stdio: 'pipe' }).trim().split(' ')[0] || undefined;
  } catch {
    return undefined;
  }
}

/** That commit's sources, built in a folder of their own with the packages of today. */
export async function buildOf(commit: string): Promise<PreviousBuild> {
  const folder = await mkdtemp(join(tmpdir(), 'checkout-previous-'));
  const archive = join(folder, 'sources.tar');
  await run('git', ['archive', '--output', archive, commit, ...SOURCES]);
  await run('tar', ['-xf', archive, '-C', folder]);
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await run(process.execPath, ['node_modules/@nestjs/cli/bin/nest.js', 'build'], { cwd: folder });
  return {
    main: join(folder, 'dist/src/main.js'),
    prepare: async (url) => {
      const options = { cwd: folder, env: { PATH: process.env['PATH'], DATABASE_URL: url } };
      await run(process.execPath, ['dist/src/database/cli/migrate.js'], options);
      await run(process.execPath, ['--eval', SEED, url, SANDBOX_SECRET], options);
    },
    remove: () => rm(folder, { recursive: true }),
  };
}
