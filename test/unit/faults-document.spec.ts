import { readFile } from 'node:fs/promises';

/** `file`: title, and in brackets the case of it that is meant. */
const NAMED = /`(test\/[\w/.-]+\.spec\.ts)`: (.+?)(?= \(`|<br>| \|)/g;

describe('The table of faults', () => {
  it('names tests that are there', async () => {
    const named = [...(await readFile('docs/faults.md', 'utf8')).matchAll(NAMED)];
    expect(named.length).toBeGreaterThan(60);
    const missing: string[] = [];
    for (const [, file, title] of named)
      if (!(await readFile(file!, 'utf8').catch(() => '')).includes(title!))
        missing.push(`${file}: ${title}`);
    expect(missing).toEqual([]);
  });
});
