import { readdir } from 'node:fs/promises';
import { extname } from 'node:path';

export interface PageFile {
  readonly type: string;
  readonly url: URL;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The files of the page, by their address. They are known by name from the start: no address leads anywhere else. */
export async function findPage(): Promise<ReadonlyMap<string, PageFile>> {
  const folder = new URL('./page/', import.meta.url);
  const names = (await readdir(folder)).filter((name) => TYPES[extname(name)]);
  return new Map(
    names.map((name) => [
      name === 'index.html' ? '/' : `/${name}`,
      { type: TYPES[extname(name)]!, url: new URL(name, folder) },
    ]),
  );
}
