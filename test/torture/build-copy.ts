import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A copy of the build for one run: a rebuild meanwhile does not reach it, and what a mutant breaks is broken in the
 * copy alone. It lies under the project, where its imports find node_modules.
 */
export async function copyBuild(name: string): Promise<string> {
  const copy = join('.data', 'torture', `${name}-${process.pid}`);
  await rm(copy, { recursive: true, force: true });
  await mkdir(copy, { recursive: true });
  for (const folder of ['src', 'migrations'])
    await cp(join('dist', folder), join(copy, folder), { recursive: true });
  return copy;
}
