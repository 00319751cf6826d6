import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const GUIDE = 'docs/make-it-yours.md';

/** A block of code in a list is indented with its item; in its file it is indented as it must be. */
const BLOCKS = /^( *)```ts ?(\S*)\n([^]*?)^ *```$/gm;

/** Without the indentation that all lines share. */
function flush(code: string): string {
  const lines = code.split('\n').filter((line) => line.trim() !== '');
  const indents = lines.map((line) => line.length - line.trimStart().length);
  const least = Math.min(...indents);
  return lines.map((line) => line.slice(least)).join('\n');
}

/** Whether the lines stand there one after the other, at whatever depth. */
function holds(file: string, quoted: string): boolean {
  const lines = file.split('\n').filter((line) => line.trim() !== '');
  const count = flush(quoted).split('\n').length;
  return lines.some((_, at) => flush(lines.slice(at, at + count).join('\n')) === flush(quoted));
}

describe('The guide "Make it yours"', () => {
  let text: string;
  beforeAll(async () => {
    text = await readFile(GUIDE, 'utf8');
  });

  it('quotes code as it stands in the file that each block names', async () => {
    const blocks = [...text.matchAll(BLOCKS)];
    expect(blocks.length).toBeGreaterThan(5);
    const stale: string[] = [];
    for (const [, , path, code] of blocks) {
      const file = path ? await readFile(path, 'utf8').catch(() => '') : '';
      if (!holds(file, code!)) stale.push(`${path || 'no file'}:\n${code}`);
    }
    expect(stale).toEqual([]);
  });

  it('tells a line that has changed from one that has not', () => {
    const file = '  a(\n\n    b,\n  );\n';
    expect([holds(file, 'a(\n  b,\n);'), holds(file, '  b,'), holds(file, 'a(\n  c,\n);')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('links to what there is', () => {
    const links = [...text.matchAll(/\]\(((?!https?:|#)[^)#]+)/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((link) => !existsSync(join('docs', link)))).toEqual([]);
  });
});
