import { readFile } from 'node:fs/promises';

/** `file`: title, and in brackets the case of it that is meant. */
const NAMED = /`(test\/[\w/.-]+\.spec\.ts)`: (.+?)(?= \(`|<br>| \|)/g;

describe('A document that says which test shows what', () => {
  it.each([
    ['docs/faults.md', 60],
    ['docs/threat-model.md', 20],
  ])('names tests that are there: %s', async (document, least) => {
    const named = [...(await readFile(document, 'utf8')).matchAll(NAMED)];
    expect(named.length).toBeGreaterThan(least);
    const missing: string[] = [];
    for (const [, file, title] of named)
      if (!(await readFile(file!, 'utf8').catch(() => '')).includes(title!))
        missing.push(`${file}: ${title}`);
    expect(missing).toEqual([]);
  });
});
