import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MUTANTS } from '../torture/mutants.js';

describe('A mutant of the torture run', () => {
  it.each(Object.entries(MUTANTS))('%s changes code that is there', async (_name, patches) => {
    for (const [file, from] of patches) {
      expect(await readFile(join('dist/src', file), 'utf8')).toContain(from);
    }
  });
});
